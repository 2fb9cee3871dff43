package finding

// Of XML signatures.
var (
	XMLIdNotUnique = row("XML_ID_NOT_UNIQUE", Error,
		"the Id of the signature is not unique",
		"l'Id della firma non è unico")
	XMLSignatureUnreadable = row("XML_SIGNATURE_UNREADABLE", Error,
		"the signature cannot be read{detail}",
		"la firma non può essere letta{detail}")
	XMLKeyValueUnreadable = row("XML_KEYVALUE_UNREADABLE", Warning,
		"the KeyValue cannot be read{detail}",
		"il KeyValue non può essere letto{detail}")
	XMLMethodUnknown = row("XML_METHOD_UNKNOWN", Warning,
		"the signature method is not known{detail}",
		"il metodo di firma non è conosciuto{detail}")
	XMLValueUnchecked = row("XML_VALUE_UNCHECKED", Warning,
		"the signature value cannot be checked{detail}",
		"il valore della firma non può essere controllato{detail}")
	XMLCountersBeyondLimit = row("XML_COUNTER_SIGNATURES_BEYOND_LIMIT", Warning,
		"counter-signatures beyond the limit are not read",
		"le controfirme oltre il limite non sono lette")
	XMLPrefixNotSigned = row("XML_PREFIX_NOT_SIGNED", Warning,
		"values of the document use a prefix, and no signature covers what it stands for",
		"valori del documento usano un prefisso, e nessuna firma copre ciò che esso indica")
	XMLExpectedMissing = row("XML_EXPECTED_ELEMENT", Warning,
		"the expected element was not found{detail}",
		"l'elemento atteso non è stato trovato{detail}")
	XMLHiddenInSignature = row("XML_CONTENT_HIDDEN_IN_SIGNATURE", Error,
		"signed content is hidden inside a signature",
		"un contenuto firmato è nascosto dentro una firma")
	XMLSignsItself = row("XML_SIGNS_ONLY_ITSELF", Error,
		"the signature signs nothing of the document but itself",
		"la firma non firma nulla del documento se non sé stessa")
	XMLStandsInUnsigned = row("XML_ELEMENT_IN_UNSIGNED", Warning,
		"the signed element stands in {}, which is not signed",
		"l'elemento firmato si trova in {}, che non è firmato")
	XMLCertUnreadable = row("XML_CERT_UNREADABLE", Warning,
		"a certificate in {} cannot be read{detail}",
		"un certificato in {} non può essere letto{detail}")
	XMLForeignCert = row("XML_KEYINFO_OTHER_CERT", Error,
		"KeyInfo shows a certificate that is not the signer's",
		"KeyInfo mostra un certificato che non è del firmatario")
	XMLPropertiesElsewhere = row("XADES_PROPERTIES_ELSEWHERE", Error,
		"the reference to SignedProperties points elsewhere",
		"il riferimento a SignedProperties porta altrove")
	XMLPropertiesNamespace = row("XADES_PROPERTIES_NAMESPACE", Warning,
		"SignedProperties are not in a namespace of XAdES",
		"SignedProperties non è in uno spazio dei nomi XAdES")
	XMLPropertiesTwice = row("XADES_PROPERTIES_TWICE", Error,
		"two references to SignedProperties",
		"due riferimenti a SignedProperties")
	XMLPropertiesUnsigned = row("XADES_PROPERTIES_UNSIGNED", Warning,
		"qualifying properties are not signed",
		"le proprietà qualificanti non sono firmate")
	XMLPropertiesSeveral = row("XADES_PROPERTIES_SEVERAL", Error,
		"several qualifying properties in one signature",
		"più proprietà qualificanti in una firma")
	XMLPropertiesOutside = row("XADES_PROPERTIES_OUTSIDE", Error,
		"SignedProperties outside their signature",
		"SignedProperties fuori dalla propria firma")
	XMLPropertiesTarget = row("XADES_PROPERTIES_TARGET", Warning,
		"Target of the qualifying properties is {quoted} and not the Id of the signature",
		"il Target delle proprietà qualificanti è {quoted} e non l'Id della firma")
	XMLPropertiesOther = row("XADES_PROPERTIES_OTHER_SIGNATURE", Error,
		"qualifying properties are about another signature",
		"le proprietà qualificanti riguardano un'altra firma")
	XMLSigningTime = row("XADES_SIGNING_TIME", Warning,
		"SigningTime is not a date and time",
		"SigningTime non è una data con ora")
	XMLCounterSignsOther = row("XML_COUNTER_SIGNS_OTHER", Error,
		"the counter-signature does not sign the value of its parent",
		"la controfirma non firma il valore della firma a cui si riferisce")
	XMLForeignObject = row("XML_OBJECT_OF_OTHER_SIGNATURE", Error,
		"the object is not one of this signature",
		"l'oggetto non è di questa firma")
	XMLReferenceUnreadable = row("XML_REFERENCE_UNREADABLE", Error,
		"a reference cannot be followed{detail}",
		"un riferimento non si può seguire{detail}")
	XMLReferencePartly = row("XML_REFERENCE_PARTLY", Warning,
		"the reference covers a part of {} only",
		"il riferimento copre solo una parte di {}")
	XMLManifestTooLong = row("XML_MANIFEST_TOO_LONG", Error,
		"more than {} entries in a manifest",
		"più di {} elementi in un manifesto")
	XMLManifestEntryMissing = row("XML_MANIFEST_ENTRY_MISSING", Warning,
		"manifest entry not found: {quoted}",
		"elemento del manifesto non trovato: {quoted}")
)
