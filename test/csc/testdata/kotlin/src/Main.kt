import eu.europa.ec.eudi.rqes.*
import kotlinx.coroutines.runBlocking
import java.net.URI
import java.time.Instant

// Signs hashes with the EU's library. Arguments: base of the API, client id and
// secret, redirect address, how requests go ("par" or "plain"; "rar" or
// "scope"), the algorithm, then the hashes in base64.
//
// Where a person has to log in it prints `LOGIN address` and reads the
// authorization code and the state, one a line. Values are printed as `VALUE
// base64`, a refusal as `REFUSED words`.
fun main(args: Array<String>) = runBlocking {
    try {
        sign(args)
    } catch (t: Throwable) {
        println("REFUSED ${generateSequence(t) { it.cause }.joinToString(" <- ") { "${it::class.simpleName}: ${it.message}" }}".replace('\n', ' '))
    }
    System.out.flush()
    Runtime.getRuntime().halt(0) // threads of the HTTP client would stay for a minute
}

fun login(prepared: AuthorizationRequestPrepared): Pair<AuthorizationCode, String> {
    println("LOGIN ${prepared.authorizationCodeURL.value}")
    System.out.flush()
    return AuthorizationCode(readln()) to readln()
}

suspend fun sign(args: Array<String>) {
    val config = CSCClientConfig(
        OAuth2Client.Confidential.ClientSecretBasic(args[1], args[2]),
        URI(args[3]),
        if (args[4] == "par") ParUsage.Required else ParUsage.Never,
        if (args[5] == "rar") RarUsage.Required else RarUsage.Never,
    )
    val client = CSCClient.oauth2(config, args[0]).getOrThrow()
    println("INFO ${client.rsspMetadata.specs} ${client.rsspMetadata.name}")
    with(client) {
        val service = prepareServiceAuthorizationRequest().getOrThrow()
        val authorized = with(service) {
            val (code, state) = login(service.value)
            authorizeWithAuthorizationCode(code, state).getOrThrow()
        }
        val credentials = with(authorized) { listCredentials(CredentialsListRequest()).getOrThrow() }
        val credential = credentials.single()
        println("CREDENTIAL ${credential.credentialID.value} ${credential.scal} ${credential.multisign}")
        val digests = DocumentDigestList(
            args.drop(7).mapIndexed { i, h -> DocumentDigest(Digest(h), "document $i") },
            HashAlgorithmOID.SHA_256,
            Instant.now(),
        )
        val subject = CredentialAuthorizationSubject(CredentialRef.ByCredentialID(credential.credentialID), digests, args.size - 7)
        val prepared = prepareCredentialAuthorizationRequest(subject).getOrThrow()
        val allowed = with(prepared) {
            val (code, state) = login(prepared.authorizationRequestPrepared)
            authorizeWithAuthorizationCode(code, state).getOrThrow()
        }
        require(allowed is CredentialAuthorized.SCAL2) { "SCAL is not 2" }
        repeat(2) { // the second time must be refused
            with(allowed) {
                signHash(SigningAlgorithmOID(args[6])).getOrThrow().signatures.forEach { println("VALUE ${it.value}") }
            }
            println("SIGNED")
        }
    }
}
