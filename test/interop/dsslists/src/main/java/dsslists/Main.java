package dsslists;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import eu.europa.esig.dss.diagnostic.SignatureWrapper;
import eu.europa.esig.dss.model.DSSDocument;
import eu.europa.esig.dss.model.FileDocument;
import eu.europa.esig.dss.model.tsl.TLInfo;
import eu.europa.esig.dss.model.tsl.LOTLInfo;
import eu.europa.esig.dss.model.tsl.TLValidationJobSummary;
import eu.europa.esig.dss.pades.validation.PDFDocumentValidator;
import eu.europa.esig.dss.service.crl.OnlineCRLSource;
import eu.europa.esig.dss.service.http.commons.CommonsDataLoader;
import eu.europa.esig.dss.service.http.commons.FileCacheDataLoader;
import eu.europa.esig.dss.service.ocsp.OnlineOCSPSource;
import eu.europa.esig.dss.simplereport.SimpleReport;
import eu.europa.esig.dss.spi.DSSUtils;
import eu.europa.esig.dss.spi.client.http.DataLoader;
import eu.europa.esig.dss.spi.exception.DSSExternalResourceException;
import eu.europa.esig.dss.spi.tsl.TrustedListsCertificateSource;
import eu.europa.esig.dss.spi.validation.CommonCertificateVerifier;
import eu.europa.esig.dss.spi.x509.CommonCertificateSource;
import eu.europa.esig.dss.spi.x509.aia.DefaultAIASource;
import eu.europa.esig.dss.tsl.function.GrantedOrRecognizedAtNationalLevelTrustAnchorPeriodPredicate;
import eu.europa.esig.dss.tsl.job.TLValidationJob;
import eu.europa.esig.dss.tsl.source.LOTLSource;
import eu.europa.esig.dss.validation.SignedDocumentValidator;
import eu.europa.esig.dss.validation.reports.Reports;
import java.io.BufferedReader;
import java.io.File;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.cert.CertificateFactory;
import java.security.cert.X509Certificate;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Date;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * Judges files with EU DSS and the trusted lists of a folder. It reads one JSON request a line and answers one line each;
 * the first line that it writes describes the lists. Nothing is fetched: a list that is not in the folder is missing, and
 * so is revocation data that is not in the file, unless the request says that it is online.
 *
 * <p>Arguments: the folder of lists, the PEM file of the certificates that sign the list of lists.
 */
public final class Main {
    private static final String LOTL = "https://ec.europa.eu/tools/lotl/eu-lotl.xml";
    private static final ObjectMapper JSON = new ObjectMapper();

    public static void main(String[] args) throws Exception {
        PrintStream out = System.out;
        System.setOut(System.err);
        TrustedListsCertificateSource trusted = new TrustedListsCertificateSource();
        out.println(JSON.writeValueAsString(load(args[0], args[1], trusted)));
        out.flush();
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line; (line = in.readLine()) != null; ) {
            Map<String, Object> answer = new LinkedHashMap<>();
            try {
                judge(JSON.readTree(line), trusted, answer);
            } catch (Exception | StackOverflowError | OutOfMemoryError e) {
                answer.put("exception", e.toString());
            }
            out.println(JSON.writeValueAsString(answer));
            out.flush();
        }
    }

    /** Lists as files: the address with every special character as an underscore. */
    private static final class Folder implements DataLoader {
        private final Path dir;

        Folder(String dir) {
            this.dir = Path.of(dir);
        }

        @Override
        public byte[] get(String url) {
            Path file = dir.resolve(url.replaceAll("[^A-Za-z0-9]", "_"));
            if (!Files.isRegularFile(file)) throw new DSSExternalResourceException("not in the folder: " + url);
            return DSSUtils.toByteArray(new FileDocument(file.toFile()));
        }

        @Override
        public DataAndUrl get(List<String> urls) {
            for (String url : urls) {
                try {
                    return new DataAndUrl(url, get(url));
                } catch (DSSExternalResourceException e) {
                    // the next one may be there
                }
            }
            throw new DSSExternalResourceException("not in the folder: " + urls);
        }

        @Override
        public byte[] post(String url, byte[] content) {
            throw new DSSExternalResourceException("nothing is fetched");
        }

        @Override
        public void setContentType(String contentType) {}
    }

    private static Map<String, Object> load(String dir, String anchors, TrustedListsCertificateSource trusted) throws Exception {
        CommonCertificateSource journal = new CommonCertificateSource();
        CertificateFactory f = CertificateFactory.getInstance("X.509");
        try (var in = Files.newInputStream(Path.of(anchors))) {
            for (var c : f.generateCertificates(in)) {
                journal.addCertificate(new eu.europa.esig.dss.model.x509.CertificateToken((X509Certificate) c));
            }
        }
        LOTLSource lotl = new LOTLSource();
        lotl.setUrl(LOTL);
        lotl.setCertificateSource(journal);
        lotl.setPivotSupport(true);
        lotl.setTLVersions(List.of(5, 6));
        // A service that is no longer granted ends paths up to the day when it was (the sunset date of EN 319 102-1).
        lotl.setTrustAnchorValidityPredicate(new GrantedOrRecognizedAtNationalLevelTrustAnchorPeriodPredicate());

        File cache = Files.createTempDirectory("dsslists").toFile();
        FileCacheDataLoader files = new FileCacheDataLoader(new Folder(dir));
        files.setFileCacheDirectory(cache);
        files.setCacheExpirationTime(0);
        TLValidationJob job = new TLValidationJob();
        job.setListOfTrustedListSources(lotl);
        job.setTrustedListCertificateSource(trusted);
        job.setOnlineDataLoader(files);
        job.onlineRefresh();
        for (File one : cache.listFiles()) one.delete();
        cache.delete();

        TLValidationJobSummary summary = job.getSummary();
        List<Map<String, Object>> lists = new ArrayList<>();
        for (LOTLInfo l : summary.getLOTLInfos()) {
            lists.add(state("EU", l));
            for (TLInfo tl : l.getTLInfos()) lists.add(state(territory(tl), tl));
        }
        Map<String, Object> m = new LinkedHashMap<>();
        m.put("lists", lists);
        m.put("anchors", trusted.getNumberOfCertificates());
        return m;
    }

    private static String territory(TLInfo tl) {
        String t = tl.getParsingCacheInfo().getTerritory();
        return t == null ? tl.getUrl() : t;
    }

    private static Map<String, Object> state(String territory, TLInfo tl) {
        Map<String, Object> m = new LinkedHashMap<>();
        m.put("territory", territory);
        m.put("verified", tl.getValidationCacheInfo().isValid());
        return m;
    }

    private static void judge(JsonNode q, TrustedListsCertificateSource trusted, Map<String, Object> answer) {
        SignedDocumentValidator v = SignedDocumentValidator.fromDocument(new FileDocument(q.get("file").asText()));
        CommonCertificateVerifier verifier = new CommonCertificateVerifier();
        verifier.setTrustedCertSources(trusted);
        verifier.setAIASource(null);
        if (q.path("online").asBoolean()) { // from loopback, where the certificates point to
            verifier.setAIASource(new DefaultAIASource(new CommonsDataLoader()));
            verifier.setOcspSource(new OnlineOCSPSource());
            verifier.setCrlSource(new OnlineCRLSource());
        }
        v.setCertificateVerifier(verifier);
        v.setValidationTime(Date.from(Instant.parse(q.get("at").asText())));
        List<DSSDocument> detached = new ArrayList<>();
        for (JsonNode d : q.withArray("detached")) {
            FileDocument doc = new FileDocument(d.get("file").asText());
            doc.setName(d.get("name").asText());
            detached.add(doc);
        }
        if (!detached.isEmpty()) v.setDetachedContents(detached);
        if (q.hasNonNull("password") && v instanceof PDFDocumentValidator) {
            ((PDFDocumentValidator) v).setPasswordProtection(q.get("password").asText().toCharArray());
        }
        Reports reports = v.validateDocument();
        SimpleReport simple = reports.getSimpleReport();
        List<Map<String, Object>> signatures = new ArrayList<>();
        for (String id : simple.getSignatureIdList()) {
            SignatureWrapper s = reports.getDiagnosticData().getSignatureById(id);
            Map<String, Object> m = new LinkedHashMap<>();
            m.put("counter", s.isCounterSignature());
            m.put("certificate", s.getSigningCertificate() == null || s.getSigningCertificate().getDigestAlgoAndValue() == null
                ? null : s.getSigningCertificate().getId());
            m.put("value", DSSUtils.toHex(DSSUtils.digest(eu.europa.esig.dss.enumerations.DigestAlgorithm.SHA256,
                s.getSignatureValue() == null ? new byte[0] : s.getSignatureValue())));
            m.put("trusted", s.isTrustedChain());
            m.put("indication", String.valueOf(simple.getIndication(id)));
            m.put("sub", simple.getSubIndication(id) == null ? "" : simple.getSubIndication(id).name());
            m.put("qualification", simple.getSignatureQualification(id) == null ? "" : simple.getSignatureQualification(id).name());
            m.put("best", simple.getBestSignatureTime(id) == null ? null : simple.getBestSignatureTime(id).toInstant().toString());
            m.put("errors", simple.getAdESValidationErrors(id).stream().map(x -> x.getKey()).toList());
            signatures.add(m);
        }
        answer.put("signatures", signatures);
        if (q.hasNonNull("reports")) {
            try {
                Files.writeString(Path.of(q.get("reports").asText() + ".detailed.xml"), reports.getXmlDetailedReport());
                Files.writeString(Path.of(q.get("reports").asText() + ".diagnostic.xml"), reports.getXmlDiagnosticData());
            } catch (java.io.IOException e) {
                answer.put("exception", e.toString());
            }
        }
    }

    private Main() {}
}
