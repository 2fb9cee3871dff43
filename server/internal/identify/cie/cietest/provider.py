"""A trust anchor and an OpenID Provider on loopback, of the PyPI package
spid-cie-oidc, as the counterpart of the CIE tests.

    provider.py PORT FOLDER

    GET /control/onboard?sub=URL   checks the entity and registers it; answers with its trust marks
    GET /control/tamper?KEY=VALUE  what the provider does wrong from now on; nothing: all is well
"""

import copy
import os
import sys

PORT, FOLDER = int(sys.argv[1]), sys.argv[2]
BASE = f"http://127.0.0.1:{PORT}"
ANCHOR, OTHER, PROVIDER = BASE, f"{BASE}/other", f"{BASE}/oidc/op"
RP_MARK, OP_MARK = f"{ANCHOR}/openid_relying_party/private/", f"{ANCHOR}/openid_provider/private/"

from django.conf import settings  # noqa: E402

settings.configure(
    DEBUG=False,
    SECRET_KEY="for tests on loopback only",
    ALLOWED_HOSTS=["127.0.0.1"],
    ROOT_URLCONF=__name__,
    AUTH_USER_MODEL="spid_cie_oidc_accounts.User",
    DEFAULT_AUTO_FIELD="django.db.models.BigAutoField",
    INSTALLED_APPS=[
        "django.contrib.auth", "django.contrib.contenttypes", "django.contrib.sessions", "django.contrib.messages", "django.contrib.staticfiles",
        "spid_cie_oidc.accounts", "spid_cie_oidc.entity", "spid_cie_oidc.authority", "spid_cie_oidc.onboarding", "spid_cie_oidc.provider",
    ],
    MIDDLEWARE=[
        "django.contrib.sessions.middleware.SessionMiddleware", "django.contrib.auth.middleware.AuthenticationMiddleware",
        "django.contrib.messages.middleware.MessageMiddleware",
    ],
    TEMPLATES=[{
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "OPTIONS": {
            "context_processors": ["django.template.context_processors.request", "django.contrib.auth.context_processors.auth"],
            "loaders": [
                ("django.template.loaders.locmem.Loader", {"bootstrap-italia-base.html": "{% block centered_container %}{% endblock %}"}),
                "django.template.loaders.app_directories.Loader",
            ],
        },
    }],
    DATABASES={"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": os.path.join(FOLDER, "db.sqlite3"), "OPTIONS": {"timeout": 20}}},
    STATIC_URL="/static/",
    USE_TZ=True,
    LOGGING={"version": 1, "handlers": {"err": {"class": "logging.StreamHandler"}}, "root": {"handlers": ["err"], "level": "WARNING"}},
    OIDCFED_TRUST_ANCHORS=[ANCHOR],
    OIDCFED_REQUIRED_TRUST_MARKS=[RP_MARK],
    OIDCFED_PROVIDER_PROFILE="cie",
    OIDCFED_DEFAULT_PROVIDER_PROFILE="cie",
    RP_DEFAULT_PROVIDER_PROFILES="cie",
)

import django  # noqa: E402

django.setup()

from django.contrib.auth import get_user_model  # noqa: E402
from django.core.management import call_command  # noqa: E402
from django.core.servers.basehttp import run  # noqa: E402
from django.core.wsgi import get_wsgi_application  # noqa: E402
from django.http import JsonResponse  # noqa: E402
from django.urls import include, path  # noqa: E402
from spid_cie_oidc.authority import models as authority  # noqa: E402
from spid_cie_oidc.authority.validators import validate_entity_configuration  # noqa: E402
from spid_cie_oidc.entity import models as entity  # noqa: E402
from spid_cie_oidc.entity.jwks import create_jwk, public_jwk_from_private_jwk  # noqa: E402
from spid_cie_oidc.provider.views import OpBase  # noqa: E402

tamper = {}


def key():
    jwk = create_jwk()
    jwk["use"] = "sig"
    return jwk


def public(keys):
    return [{**public_jwk_from_private_jwk(k), "use": "sig"} for k in keys]


def populate():
    def configuration(sub, kind, metadata, **more):
        return entity.FederationEntityConfiguration.objects.create(
            sub=sub, entity_type=kind, metadata=metadata, jwks_fed=[key()], is_active=True, default_signature_alg="RS256", **more)

    def anchor(sub, **more):
        return configuration(sub, "federation_entity", {"federation_entity": {
            "organization_name": "Test anchor", "contacts": ["anchor@example.test"],
            "federation_fetch_endpoint": f"{BASE}/fetch", "federation_list_endpoint": f"{BASE}/list",
            "federation_trust_mark_status_endpoint": f"{BASE}/trust_mark_status", "federation_resolve_endpoint": f"{BASE}/resolve",
        }}, jwks_core=[], constraints={"max_path_length": 1}, **more)

    top = anchor(ANCHOR, trust_mark_issuers={RP_MARK: [ANCHOR], OP_MARK: [ANCHOR]})
    anchor(OTHER)
    core = [key()]
    algs = ["RS256", "ES256"]
    enc = {"alg": ["RSA-OAEP", "RSA-OAEP-256"], "enc": ["A256CBC-HS512"]}
    metadata = {
        "organization_name": "Test provider", "issuer": PROVIDER, "jwks": {"keys": public(core)},
        "authorization_endpoint": f"{PROVIDER}/authorization", "token_endpoint": f"{PROVIDER}/token", "userinfo_endpoint": f"{PROVIDER}/userinfo",
        "introspection_endpoint": f"{PROVIDER}/introspection", "revocation_endpoint": f"{PROVIDER}/revocation",
        "subject_types_supported": ["pairwise"], "client_registration_types_supported": ["automatic"], "request_parameter_supported": True,
        "token_endpoint_auth_methods_supported": ["private_key_jwt"], "scopes_supported": ["openid", "profile", "email"],
        "response_types_supported": ["code"], "response_modes_supported": ["query", "form_post"], "grant_types_supported": ["authorization_code"],
        "acr_values_supported": [f"https://www.spid.gov.it/SpidL{n}" for n in (1, 2, 3)], "claims_supported": ["given_name", "family_name"],
        "claims_parameter_supported": True, "authorization_response_iss_parameter_supported": True, "tls_client_certificate_bound_access_tokens": True,
    }
    for what in ("id_token", "userinfo", "request_object"):
        metadata[f"{what}_signing_alg_values_supported"] = algs
        for part, values in enc.items():
            metadata[f"{what}_encryption_{part}_values_supported"] = values
    metadata["token_endpoint_auth_signing_alg_values_supported"] = algs
    provider = configuration(PROVIDER, "openid_provider", {"openid_provider": metadata}, jwks_core=core, authority_hints=[ANCHOR])
    for category, mark in (("openid_relying_party", RP_MARK), ("openid_provider", OP_MARK)):
        authority.FederationEntityProfile.objects.create(name=category, profile_category=category, profile_id=mark, trust_mark_template={"ref": ""})
    provider.trust_marks = register(PROVIDER, "openid_provider", public(provider.jwks_fed), top)
    provider.save()
    user = get_user_model()(username="mario", email="mario.rossi@example.test", attributes={
        "given_name": "Mario", "family_name": "Rossi", "birthdate": "1980-01-01", "email": "mario.rossi@example.test",
        "fiscal_number": "RSSMRA80A01H501U", "https://attributes.eid.gov.it/fiscal_number": "TINIT-RSSMRA80A01H501U",
    })
    user.set_password("mario")
    user.save()


def register(sub, kind, jwks, issuer):
    one = authority.FederationDescendant.objects.create(sub=sub, name=kind, type=kind, jwks=jwks, status="valid", is_active=True)
    profile = authority.FederationEntityProfile.objects.get(profile_category=kind)
    given = authority.FederationEntityAssignedProfile.objects.create(descendant=one, profile=profile, issuer=issuer)
    return [given.trust_mark]


def onboard(request):
    """What the registrar does: the configuration is fetched and verified, its keys are vouched for."""
    sub = request.GET["sub"]
    found = validate_entity_configuration(sub)
    entity.TrustChain.objects.filter(sub=sub).delete()
    authority.FederationDescendant.objects.filter(sub=sub).delete()
    top = entity.FederationEntityConfiguration.objects.get(sub=ANCHOR)
    return JsonResponse(register(sub, "openid_relying_party", found.jwks, top), safe=False)


def wrong(request):
    tamper.clear()
    tamper.update(request.GET.dict())
    return JsonResponse(tamper)


# The package itself signs all that follows; only what it signs is altered.
own_id_token, own_statement = OpBase.get_id_token, authority.FederationDescendant.entity_statement_as_dict
own_configuration = entity.FederationEntityConfiguration.entity_configuration_as_dict.fget


def id_token(self, *args, **kwargs):
    claims = own_id_token(self, *args, **kwargs)
    for name in ("nonce", "acr", "iss"):
        if f"id_token_{name}" in tamper:
            claims[name] = tamper[f"id_token_{name}"]
    if "id_token_aud" in tamper:
        claims["aud"] = [tamper["id_token_aud"]]
    return claims


def statement(self, *args, **kwargs):
    claims = own_statement(self, *args, **kwargs)
    if "statement_exp" in tamper and self.sub == PROVIDER:
        claims["exp"] = claims["iat"] + int(tamper["statement_exp"])
    return claims


def configuration(self):
    claims = copy.deepcopy(own_configuration(self))
    if self.sub == PROVIDER:
        if "no_mark" in tamper:
            claims.pop("trust_marks", None)
        if "hints" in tamper:
            claims["authority_hints"] = [tamper["hints"]]
    return claims


OpBase.get_id_token = id_token
authority.FederationDescendant.entity_statement_as_dict = statement
entity.FederationEntityConfiguration.entity_configuration_as_dict = property(configuration)

urlpatterns = [
    path("control/onboard", onboard),
    path("control/tamper", wrong),
    path("oidc/op/", include("spid_cie_oidc.entity.urls")),
    path("other/", include("spid_cie_oidc.entity.urls")),
    path("", include("spid_cie_oidc.entity.urls")),
    path("", include("spid_cie_oidc.authority.urls")),
    path("", include("spid_cie_oidc.onboarding.urls")),
    path("", include("spid_cie_oidc.provider.urls")),
]

if __name__ == "__main__":
    call_command("migrate", verbosity=0)
    populate()
    print("ready", flush=True)
    run("127.0.0.1", PORT, get_wsgi_application(), threading=True)
