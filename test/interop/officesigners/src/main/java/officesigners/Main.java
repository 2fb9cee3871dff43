package officesigners;

import java.io.ByteArrayInputStream;
import java.io.File;
import java.io.FileOutputStream;
import java.nio.file.Files;
import java.security.KeyStore;
import java.security.PrivateKey;
import java.security.cert.X509Certificate;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Base64;
import java.util.List;
import org.apache.poi.common.usermodel.HyperlinkType;
import org.apache.poi.openxml4j.opc.OPCPackage;
import org.apache.poi.openxml4j.opc.PackageAccess;
import org.apache.poi.poifs.crypt.HashAlgorithm;
import org.apache.poi.poifs.crypt.dsig.SignatureConfig;
import org.apache.poi.poifs.crypt.dsig.SignatureInfo;
import org.apache.poi.poifs.crypt.dsig.facets.KeyInfoSignatureFacet;
import org.apache.poi.poifs.crypt.dsig.facets.OOXMLSignatureFacet;
import org.apache.poi.sl.usermodel.PictureData;
import org.apache.poi.util.Units;
import org.apache.poi.xslf.usermodel.XMLSlideShow;
import org.apache.poi.xslf.usermodel.XSLFSlide;
import org.apache.poi.xssf.usermodel.XSSFCell;
import org.apache.poi.xssf.usermodel.XSSFHyperlink;
import org.apache.poi.xssf.usermodel.XSSFWorkbook;
import org.apache.poi.xwpf.usermodel.Document;
import org.apache.poi.xwpf.usermodel.XWPFDocument;
import org.apache.poi.xwpf.usermodel.XWPFRun;

/**
 * make FOLDER P12 PASSWORD: writes contract.docx, sheet.xlsx and slides.pptx into the folder, unsigned; signed with XAdES
 * (-xades), by XML signature alone (-dsig), and twice (-twice). Then prints a line "NAME true|false" for each signed file: whether POI
 * itself finds its signatures good.
 */
public final class Main {
    private static final byte[] PNG = Base64.getDecoder().decode(
        "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==");

    public static void main(String[] args) throws Exception {
        File dir = new File(args[0]);
        KeyStore store = KeyStore.getInstance("PKCS12");
        try (var in = Files.newInputStream(new File(args[1]).toPath())) {
            store.load(in, args[2].toCharArray());
        }
        String alias = store.aliases().nextElement();
        PrivateKey key = (PrivateKey) store.getKey(alias, args[2].toCharArray());
        List<X509Certificate> chain = new ArrayList<>();
        for (var c : store.getCertificateChain(alias)) {
            chain.add((X509Certificate) c);
        }
        word(new File(dir, "contract.docx"));
        excel(new File(dir, "sheet.xlsx"));
        powerpoint(new File(dir, "slides.pptx"));
        for (String name : List.of("contract.docx", "sheet.xlsx", "slides.pptx")) {
            sign(dir, name, "xades", key, chain, true, 1);
            sign(dir, name, "dsig", key, chain, false, 1);
            sign(dir, name, "twice", key, chain, true, 2);
        }
    }

    private static void word(File out) throws Exception {
        try (XWPFDocument doc = new XWPFDocument(); FileOutputStream to = new FileOutputStream(out)) {
            XWPFRun run = doc.createParagraph().createRun();
            run.setText("The parties agree to pay 1,000 euro.");
            run.addPicture(new ByteArrayInputStream(PNG), Document.PICTURE_TYPE_PNG, "dot.png", Units.toEMU(20), Units.toEMU(20));
            doc.createParagraph().createHyperlinkRun("https://example.com/terms").setText("terms");
            doc.createHeader(org.apache.poi.wp.usermodel.HeaderFooterType.DEFAULT).createParagraph().createRun().setText("Contract");
            doc.createStyles();
            doc.getProperties().getCoreProperties().setTitle("Contract");
            doc.write(to);
        }
    }

    private static void excel(File out) throws Exception {
        try (XSSFWorkbook book = new XSSFWorkbook(); FileOutputStream to = new FileOutputStream(out)) {
            XSSFCell cell = book.createSheet("Prices").createRow(0).createCell(0);
            cell.setCellValue("1,000 euro");
            XSSFHyperlink link = book.getCreationHelper().createHyperlink(HyperlinkType.URL);
            link.setAddress("https://example.com/prices");
            cell.setHyperlink(link);
            book.createSheet("More").createRow(0).createCell(0).setCellValue(12.5);
            book.write(to);
        }
    }

    private static void powerpoint(File out) throws Exception {
        try (XMLSlideShow show = new XMLSlideShow(); FileOutputStream to = new FileOutputStream(out)) {
            XSLFSlide slide = show.createSlide();
            slide.createTextBox().setText("Offer: 1,000 euro");
            slide.createPicture(show.addPicture(PNG, PictureData.PictureType.PNG));
            show.write(to);
        }
    }

    private static void sign(File dir, String name, String how, PrivateKey key, List<X509Certificate> chain, boolean xades, int times)
            throws Exception {
        int dot = name.lastIndexOf('.');
        File file = new File(dir, name.substring(0, dot) + "-" + how + name.substring(dot));
        Files.copy(new File(dir, name).toPath(), file.toPath());
        boolean good = true;
        for (int i = 0; i < times; i++) {
            SignatureConfig config = new SignatureConfig();
            config.setKey(key);
            config.setSigningCertificateChain(chain);
            config.setDigestAlgo(HashAlgorithm.sha256);
            config.setXadesDigestAlgo(HashAlgorithm.sha256);
            config.setAllowMultipleSignatures(true);
            config.setIncludeEntireCertificateChain(true);
            if (!xades) {
                config.setSignatureFacets(new ArrayList<>(Arrays.asList(new OOXMLSignatureFacet(), new KeyInfoSignatureFacet())));
            }
            try (OPCPackage pkg = OPCPackage.open(file, PackageAccess.READ_WRITE)) {
                SignatureInfo info = new SignatureInfo();
                info.setSignatureConfig(config);
                info.setOpcPackage(pkg);
                info.confirmSignature();
                try {
                    good = info.verifySignature();
                } catch (RuntimeException e) { // the JDK's own limit of 30 references in a manifest
                    good = false;
                }
            }
        }
        System.out.println(file.getName() + " " + good);
    }
}
