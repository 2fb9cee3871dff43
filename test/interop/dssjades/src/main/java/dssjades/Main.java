package dssjades;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import eu.europa.esig.dss.diagnostic.SignatureWrapper;
import eu.europa.esig.dss.diagnostic.TimestampWrapper;
import eu.europa.esig.dss.enumerations.DigestAlgorithm;
import eu.europa.esig.dss.enumerations.JWSSerializationType;
import eu.europa.esig.dss.enumerations.SigDMechanism;
import eu.europa.esig.dss.enumerations.SignatureLevel;
import eu.europa.esig.dss.enumerations.SignaturePackaging;
import eu.europa.esig.dss.jades.HTTPHeader;
import eu.europa.esig.dss.jades.HTTPHeaderDigest;
import eu.europa.esig.dss.jades.JAdESSignatureParameters;
import eu.europa.esig.dss.jades.signature.JAdESCounterSignatureParameters;
import eu.europa.esig.dss.jades.signature.JAdESService;
import eu.europa.esig.dss.model.DSSDocument;
import eu.europa.esig.dss.model.FileDocument;
import eu.europa.esig.dss.model.SignatureValue;
import eu.europa.esig.dss.model.ToBeSigned;
import eu.europa.esig.dss.model.x509.CertificateToken;
import eu.europa.esig.dss.service.crl.OnlineCRLSource;
import eu.europa.esig.dss.service.ocsp.OnlineOCSPSource;
import eu.europa.esig.dss.service.tsp.OnlineTSPSource;
import eu.europa.esig.dss.simplereport.SimpleReport;
import eu.europa.esig.dss.spi.DSSUtils;
import eu.europa.esig.dss.spi.validation.CommonCertificateVerifier;
import eu.europa.esig.dss.spi.x509.CommonTrustedCertificateSource;
import eu.europa.esig.dss.spi.x509.aia.DefaultAIASource;
import eu.europa.esig.dss.token.DSSPrivateKeyEntry;
import eu.europa.esig.dss.token.Pkcs12SignatureToken;
import eu.europa.esig.dss.validation.SignedDocumentValidator;
import eu.europa.esig.dss.validation.reports.Reports;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.KeyStore;
import java.util.ArrayList;
import java.util.Date;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * EU DSS for JSON signatures. It reads one JSON request a line and answers one line each. The member {@code op} is
 * validate, sign, extend or counter; the first argument is the PEM file of the trusted root. Addresses in certificates are
 * asked, so the PKI has to answer.
 */
public final class Main {
    private static final ObjectMapper JSON = new ObjectMapper();

    public static void main(String[] args) throws Exception {
        PrintStream out = System.out;
        System.setOut(System.err);
        CertificateToken root = DSSUtils.loadCertificate(Files.readAllBytes(Path.of(args[0])));
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line; (line = in.readLine()) != null; ) {
            Map<String, Object> answer = new LinkedHashMap<>();
            try {
                answer(JSON.readTree(line), root, answer);
            } catch (Exception | StackOverflowError | OutOfMemoryError e) {
                answer.put("exception", e.toString());
            }
            out.println(JSON.writeValueAsString(answer));
            out.flush();
        }
    }

    private static void answer(JsonNode q, CertificateToken root, Map<String, Object> answer) throws Exception {
        CommonTrustedCertificateSource trusted = new CommonTrustedCertificateSource();
        trusted.addCertificate(root);
        CommonCertificateVerifier verifier = new CommonCertificateVerifier();
        verifier.setTrustedCertSources(trusted);
        verifier.setAIASource(new DefaultAIASource());
        verifier.setOcspSource(new OnlineOCSPSource());
        verifier.setCrlSource(new OnlineCRLSource());
        switch (q.get("op").asText()) {
            case "validate" -> validate(q, verifier, answer);
            case "sign" -> sign(q, verifier);
            case "extend" -> extend(q, verifier);
            case "counter" -> counter(q, verifier);
            default -> throw new IllegalArgumentException("op");
        }
    }

    private static List<DSSDocument> documents(JsonNode list) throws Exception {
        List<DSSDocument> all = new ArrayList<>();
        if (list == null) return all;
        for (JsonNode d : list) {
            if (d.hasNonNull("body")) {
                all.add(new HTTPHeaderDigest(new FileDocument(d.get("body").asText()), DigestAlgorithm.SHA256));
            } else if (d.hasNonNull("value")) {
                all.add(new HTTPHeader(d.get("name").asText(), d.get("value").asText()));
            } else {
                FileDocument f = new FileDocument(d.get("file").asText());
                f.setName(d.get("name").asText());
                all.add(f);
            }
        }
        return all;
    }

    private static void validate(JsonNode q, CommonCertificateVerifier verifier, Map<String, Object> answer) throws Exception {
        SignedDocumentValidator v = SignedDocumentValidator.fromDocument(new FileDocument(q.get("file").asText()));
        v.setCertificateVerifier(verifier);
        List<DSSDocument> detached = documents(q.get("detached"));
        if (!detached.isEmpty()) v.setDetachedContents(detached);
        Reports reports = v.validateDocument();
        SimpleReport simple = reports.getSimpleReport();
        List<Map<String, Object>> signatures = new ArrayList<>();
        for (SignatureWrapper s : reports.getDiagnosticData().getSignatures()) {
            String id = s.getId();
            Map<String, Object> m = new LinkedHashMap<>();
            m.put("counterSignature", s.isCounterSignature());
            m.put("level", String.valueOf(s.getSignatureFormat()).replace('_', '-'));
            m.put("indication", String.valueOf(simple.getIndication(id)).replace('_', '-'));
            m.put("subIndication", simple.getSubIndication(id) == null ? "" : simple.getSubIndication(id).name());
            m.put("intact", s.isSignatureIntact());
            m.put("digestAlgorithm", String.valueOf(s.getDigestAlgorithm()));
            m.put("encryptionAlgorithm", String.valueOf(s.getEncryptionAlgorithm()));
            m.put("structure", s.getStructuralValidationMessages());
            m.put("errors", simple.getAdESValidationErrors(id).stream().map(x -> x.getKey() + ": " + x.getValue()).toList());
            m.put("warnings", simple.getAdESValidationWarnings(id).stream().map(x -> x.getKey() + ": " + x.getValue()).toList());
            List<Map<String, Object>> stamps = new ArrayList<>();
            for (TimestampWrapper t : s.getTimestampList()) {
                Map<String, Object> one = new LinkedHashMap<>();
                one.put("type", String.valueOf(t.getType()));
                one.put("indication", String.valueOf(reports.getDetailedReport().getBasicTimestampValidationIndication(t.getId())));
                one.put("imprintIntact", t.isMessageImprintDataIntact());
                stamps.add(one);
            }
            m.put("timestamps", stamps);
            signatures.add(m);
        }
        answer.put("format", "JAdES");
        answer.put("signatures", signatures);
    }

    private static JAdESSignatureParameters parameters(JsonNode q) {
        JAdESSignatureParameters p = new JAdESSignatureParameters();
        p.setSignatureLevel(SignatureLevel.valueOf("JAdES_BASELINE_" + q.get("level").asText()));
        p.setJwsSerializationType(JWSSerializationType.valueOf(q.path("serialization").asText("FLATTENED_JSON_SERIALIZATION")));
        p.setBase64UrlEncodedPayload(!q.path("unencoded").asBoolean());
        p.setBase64UrlEncodedEtsiUComponents(!q.path("clear").asBoolean());
        p.setDigestAlgorithm(DigestAlgorithm.valueOf(q.path("digest").asText("SHA256")));
        return p;
    }

    private static JAdESService service(JsonNode q, CommonCertificateVerifier verifier) {
        JAdESService s = new JAdESService(verifier);
        if (q.hasNonNull("tsa")) s.setTspSource(new OnlineTSPSource(q.get("tsa").asText()));
        return s;
    }

    private static Pkcs12SignatureToken token(JsonNode q) throws Exception {
        return new Pkcs12SignatureToken(q.get("p12").asText(), new KeyStore.PasswordProtection(q.get("password").asText().toCharArray()));
    }

    private static void sign(JsonNode q, CommonCertificateVerifier verifier) throws Exception {
        try (Pkcs12SignatureToken token = token(q)) {
            DSSPrivateKeyEntry key = token.getKeys().get(0);
            JAdESSignatureParameters p = parameters(q);
            p.setSigningCertificate(key.getCertificate());
            p.setCertificateChain(key.getCertificateChain());
            p.bLevel().setSigningDate(new Date());
            p.setSignaturePackaging(SignaturePackaging.ENVELOPING);
            if (q.hasNonNull("mechanism")) {
                p.setSignaturePackaging(SignaturePackaging.DETACHED);
                p.setSigDMechanism(SigDMechanism.valueOf(q.get("mechanism").asText()));
            }
            List<DSSDocument> docs = documents(q.get("documents"));
            JAdESService s = service(q, verifier);
            ToBeSigned data = docs.size() == 1 ? s.getDataToSign(docs.get(0), p) : s.getDataToSign(docs, p);
            SignatureValue value = token.sign(data, p.getDigestAlgorithm(), key);
            DSSDocument signed = docs.size() == 1 ? s.signDocument(docs.get(0), p, value) : s.signDocument(docs, p, value);
            signed.save(q.get("out").asText());
        }
    }

    private static void extend(JsonNode q, CommonCertificateVerifier verifier) throws Exception {
        JAdESSignatureParameters p = parameters(q);
        List<DSSDocument> detached = documents(q.get("detached"));
        if (!detached.isEmpty()) p.setDetachedContents(detached);
        service(q, verifier).extendDocument(new FileDocument(q.get("file").asText()), p).save(q.get("out").asText());
    }

    private static void counter(JsonNode q, CommonCertificateVerifier verifier) throws Exception {
        FileDocument file = new FileDocument(q.get("file").asText());
        SignedDocumentValidator v = SignedDocumentValidator.fromDocument(file);
        v.setCertificateVerifier(verifier);
        try (Pkcs12SignatureToken token = token(q)) {
            DSSPrivateKeyEntry key = token.getKeys().get(0);
            JAdESCounterSignatureParameters p = new JAdESCounterSignatureParameters();
            p.setSignatureLevel(SignatureLevel.JAdES_BASELINE_B);
            p.setDigestAlgorithm(DigestAlgorithm.SHA256);
            p.setJwsSerializationType(JWSSerializationType.valueOf(q.path("serialization").asText("FLATTENED_JSON_SERIALIZATION")));
            p.setSigningCertificate(key.getCertificate());
            p.setCertificateChain(key.getCertificateChain());
            p.bLevel().setSigningDate(new Date());
            p.setSignatureIdToCounterSign(v.getSignatures().get(0).getId());
            if (q.path("detached").asBoolean()) p.setSignaturePackaging(SignaturePackaging.DETACHED);
            JAdESService s = service(q, verifier);
            SignatureValue value = token.sign(s.getDataToBeCounterSigned(file, p), p.getDigestAlgorithm(), key);
            s.counterSignSignature(file, p, value).save(q.get("out").asText());
        }
    }

    private Main() {}
}
