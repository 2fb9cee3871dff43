package pdfsigners;

import com.itextpdf.forms.PdfAcroForm;
import com.itextpdf.forms.fields.properties.SignedAppearanceText;
import com.itextpdf.forms.form.element.SignatureFieldAppearance;
import com.itextpdf.kernel.pdf.StampingProperties;
import com.itextpdf.signatures.BouncyCastleDigest;
import com.itextpdf.signatures.PrivateKeySignature;
import com.itextpdf.signatures.SignerProperties;
import com.lowagie.text.pdf.AcroFields;
import java.io.BufferedReader;
import java.io.ByteArrayOutputStream;
import java.io.File;
import java.io.FileInputStream;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;

import java.security.KeyStore;
import java.security.PrivateKey;
import java.security.Security;
import java.security.cert.Certificate;
import java.security.cert.X509Certificate;
import java.util.Arrays;
import java.util.Calendar;
import java.util.HashMap;
import org.apache.pdfbox.Loader;
import org.apache.pdfbox.pdmodel.PDDocument;

import org.apache.pdfbox.pdmodel.interactive.digitalsignature.PDSignature;
import org.apache.pdfbox.pdmodel.interactive.digitalsignature.SignatureInterface;
import org.apache.pdfbox.pdmodel.interactive.digitalsignature.SignatureOptions;
import org.apache.pdfbox.pdmodel.interactive.digitalsignature.visible.PDVisibleSigProperties;
import org.apache.pdfbox.pdmodel.interactive.digitalsignature.visible.PDVisibleSignDesigner;
import org.apache.pdfbox.pdmodel.interactive.form.PDField;
import org.bouncycastle.cert.jcajce.JcaCertStore;
import org.bouncycastle.cms.CMSProcessableByteArray;
import org.bouncycastle.cms.CMSSignedDataGenerator;
import org.bouncycastle.cms.jcajce.JcaSignerInfoGeneratorBuilder;
import org.bouncycastle.jce.provider.BouncyCastleProvider;
import org.bouncycastle.operator.jcajce.JcaContentSignerBuilder;
import org.bouncycastle.operator.jcajce.JcaDigestCalculatorProviderBuilder;

/**
 * Reads one command a line, its words parted by tabs, and answers "ok" or "error" with the reason:
 * sign PRODUCT IN OUT P12 PASSWORD FIELD SHOWN (FIELD of "-" is a new one; SHOWN is 1 or 0),
 * fill PRODUCT IN OUT FIELD VALUE.
 */
public final class Main {
    private static PrivateKey key;
    private static Certificate[] chain;

    public static void main(String[] args) throws IOException {
        Security.addProvider(new BouncyCastleProvider());
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            String[] w = line.split("\t", -1);
            try {
                run(w);
                System.out.println("ok");
            } catch (Throwable e) {
                System.out.println("error " + w[0] + " " + w[1] + ": " + e.toString().replace('\n', ' '));
            }
        }
    }

    private static void run(String[] w) throws Exception {
        File in = new File(w[2]);
        File out = new File(w[3]);
        if (w[0].equals("fill")) {
            switch (w[1]) {
                case "pdfbox" -> fillPDFBox(in, out, w[4], w[5]);
                case "openpdf" -> fillOpenPDF(in, out, w[4], w[5]);
                default -> fillIText(in, out, w[4], w[5]);
            }
            return;
        }
        open(w[4], w[5]);
        String field = w[6].equals("-") ? null : w[6];
        boolean shown = w[7].equals("1");
        switch (w[1]) {
            case "pdfbox" -> signPDFBox(in, out, field, shown);
            case "openpdf" -> signOpenPDF(in, out, field, shown);
            default -> signIText(in, out, field, shown);
        }
    }

    private static void open(String file, String password) throws Exception {
        KeyStore store = KeyStore.getInstance("PKCS12");
        try (InputStream s = new FileInputStream(file)) {
            store.load(s, password.toCharArray());
        }
        String alias = store.aliases().nextElement();
        key = (PrivateKey) store.getKey(alias, password.toCharArray());
        chain = store.getCertificateChain(alias);
    }

    private static byte[] cms(byte[] content) throws Exception {
        CMSSignedDataGenerator g = new CMSSignedDataGenerator();
        X509Certificate own = (X509Certificate) chain[0];
        String algorithm = key.getAlgorithm().startsWith("EC") ? "SHA256withECDSA" : "SHA256withRSA";
        g.addSignerInfoGenerator(new JcaSignerInfoGeneratorBuilder(new JcaDigestCalculatorProviderBuilder().build())
                .build(new JcaContentSignerBuilder(algorithm).build(key), own));
        g.addCertificates(new JcaCertStore(Arrays.asList(chain)));
        return g.generate(new CMSProcessableByteArray(content), false).getEncoded();
    }

    private static void signPDFBox(File in, File out, String field, boolean shown) throws Exception {
        SignatureInterface signer = content -> {
            try {
                return cms(content.readAllBytes());
            } catch (Exception e) {
                throw new IOException(e);
            }
        };
        try (PDDocument doc = Loader.loadPDF(in); FileOutputStream to = new FileOutputStream(out)) {
            PDSignature s = null;
            if (field != null) {
                PDField f = doc.getDocumentCatalog().getAcroForm().getField(field);
                s = new PDSignature();
                ((org.apache.pdfbox.pdmodel.interactive.form.PDSignatureField) f).setValue(s);
            } else {
                s = new PDSignature();
            }
            s.setFilter(PDSignature.FILTER_ADOBE_PPKLITE);
            s.setSubFilter(PDSignature.SUBFILTER_ADBE_PKCS7_DETACHED);
            s.setSignDate(Calendar.getInstance());
            SignatureOptions options = new SignatureOptions();
            options.setPreferredSignatureSize(20000);
            if (shown && field == null) {
                ByteArrayOutputStream png = new ByteArrayOutputStream();
                javax.imageio.ImageIO.write(new java.awt.image.BufferedImage(40, 20, java.awt.image.BufferedImage.TYPE_INT_RGB), "png", png);
                PDVisibleSignDesigner d = new PDVisibleSignDesigner(doc, new java.io.ByteArrayInputStream(png.toByteArray()), 1);
                d.xAxis(100).yAxis(100).zoom(0);
                PDVisibleSigProperties p = new PDVisibleSigProperties();
                p.signerName("x").page(1).visualSignEnabled(true).setPdVisibleSignature(d).buildSignature();
                options.setVisualSignature(p.getVisibleSignature());
                options.setPage(0);
            }
            doc.addSignature(s, signer, options);
            doc.saveIncremental(to);
        }
    }

    private static void signOpenPDF(File in, File out, String field, boolean shown) throws Exception {
        com.lowagie.text.pdf.PdfReader reader = new com.lowagie.text.pdf.PdfReader(Files.readAllBytes(in.toPath()));
        try (FileOutputStream to = new FileOutputStream(out)) {
            com.lowagie.text.pdf.PdfStamper st = com.lowagie.text.pdf.PdfStamper.createSignature(reader, to, '\0', null, true);
            com.lowagie.text.pdf.PdfSignatureAppearance sap = st.getSignatureAppearance();
            sap.setCrypto(null, chain, null, null);
            sap.setSignDate(Calendar.getInstance());
            if (field != null) {
                sap.setVisibleSignature(field);
            } else if (shown) {
                sap.setVisibleSignature(new com.lowagie.text.Rectangle(100, 100, 200, 140), 1, null);
            }
            com.lowagie.text.pdf.PdfSignature dic = new com.lowagie.text.pdf.PdfSignature(
                    com.lowagie.text.pdf.PdfName.ADOBE_PPKLITE, new com.lowagie.text.pdf.PdfName("adbe.pkcs7.detached"));
            dic.setDate(new com.lowagie.text.pdf.PdfDate(sap.getSignDate()));
            sap.setCryptoDictionary(dic);
            int room = 20000;
            HashMap<com.lowagie.text.pdf.PdfName, Integer> exclude = new HashMap<>();
            exclude.put(com.lowagie.text.pdf.PdfName.CONTENTS, room * 2 + 2);
            sap.preClose(exclude);
            byte[] value = Arrays.copyOf(cms(sap.getRangeStream().readAllBytes()), room);
            com.lowagie.text.pdf.PdfDictionary d = new com.lowagie.text.pdf.PdfDictionary();
            d.put(com.lowagie.text.pdf.PdfName.CONTENTS, new com.lowagie.text.pdf.PdfString(value).setHexWriting(true));
            sap.close(d);
        }
    }

    private static void signIText(File in, File out, String field, boolean shown) throws Exception {
        try (FileOutputStream to = new FileOutputStream(out)) {
            com.itextpdf.signatures.PdfSigner s = new com.itextpdf.signatures.PdfSigner(
                    new com.itextpdf.kernel.pdf.PdfReader(in), to, new StampingProperties().useAppendMode());
            SignerProperties p = new SignerProperties();
            if (field != null) {
                p.setFieldName(field);
            }
            if (shown) {
                if (field == null) {
                    p.setPageNumber(1).setPageRect(new com.itextpdf.kernel.geom.Rectangle(100, 100, 120, 40));
                }
                p.setSignatureAppearance(new SignatureFieldAppearance(SignerProperties.IGNORED_ID).setContent(new SignedAppearanceText()));
            }
            s.setSignerProperties(p);
            PrivateKeySignature pks = new PrivateKeySignature(
                    key, "SHA-256", BouncyCastleProvider.PROVIDER_NAME);
            s.signDetached(new BouncyCastleDigest(), pks, chain, null, null, null, 20000, com.itextpdf.signatures.PdfSigner.CryptoStandard.CADES);
        }
    }

    private static void fillPDFBox(File in, File out, String field, String value) throws Exception {
        try (PDDocument doc = Loader.loadPDF(in); FileOutputStream to = new FileOutputStream(out)) {
            doc.getDocumentCatalog().getAcroForm().getField(field).setValue(value);
            doc.getDocumentCatalog().getAcroForm().getField(field).getCOSObject().setNeedToBeUpdated(true);
            for (var w : doc.getDocumentCatalog().getAcroForm().getField(field).getWidgets()) {
                w.getCOSObject().setNeedToBeUpdated(true);
                if (w.getAppearance() != null) {
                    w.getAppearance().getCOSObject().setNeedToBeUpdated(true);
                    if (!w.getAppearance().getNormalAppearance().isSubDictionary()) {
                        w.getAppearance().getNormalAppearance().getAppearanceStream().getCOSObject().setNeedToBeUpdated(true);
                    }
                }
            }
            doc.saveIncremental(to);
        }
    }

    private static void fillOpenPDF(File in, File out, String field, String value) throws Exception {
        com.lowagie.text.pdf.PdfReader reader = new com.lowagie.text.pdf.PdfReader(Files.readAllBytes(in.toPath()));
        try (FileOutputStream to = new FileOutputStream(out)) {
            com.lowagie.text.pdf.PdfStamper st = new com.lowagie.text.pdf.PdfStamper(reader, to, '\0', true);
            AcroFields f = st.getAcroFields();
            f.setField(field, value);
            st.close();
        }
    }

    private static void fillIText(File in, File out, String field, String value) throws Exception {
        try (com.itextpdf.kernel.pdf.PdfDocument doc = new com.itextpdf.kernel.pdf.PdfDocument(
                new com.itextpdf.kernel.pdf.PdfReader(in), new com.itextpdf.kernel.pdf.PdfWriter(out), new StampingProperties().useAppendMode())) {
            PdfAcroForm.getAcroForm(doc, false).getField(field).setValue(value);
        }
    }

    private Main() {
    }
}
