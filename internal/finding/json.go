package finding

// Of JSON and its signatures.
var (
	JSONNameTwice = row("JSON_NAME_TWICE", Error,
		"the name {quoted} stands twice in one object",
		"il nome {quoted} compare due volte nello stesso oggetto")
	JSONTrailing = row("JSON_TRAILING_DATA", Error,
		"something follows the JSON document",
		"qualcosa segue il documento JSON")
	JWSUnreadable = row("JWS_UNREADABLE", Error,
		"it cannot be read as a JSON signature{detail}",
		"non può essere letta come firma JSON{detail}")
	JWSBothForms = row("JWS_TWO_FORMS", Error,
		"the file has the members of two forms of a JSON signature: signatures beside {quoted}",
		"il file ha i membri di due forme di firma JSON: signatures accanto a {quoted}")
	JWSBase64 = row("JWS_BASE64URL", Error,
		"{quoted} is not base64url as JSON signatures want it: without padding, white space and unused bits",
		"{quoted} non è base64url come lo vogliono le firme JSON: senza riempimento, spazi e bit inutilizzati")
	JWSHeaderUnreadable = row("JWS_HEADER_UNREADABLE", Error,
		"the protected header is no JSON object{detail}",
		"l'intestazione protetta non è un oggetto JSON{detail}")
	JWSHeaderInBoth = row("JWS_HEADER_IN_BOTH", Error,
		"the header parameter {quoted} stands in the protected and in the unprotected header",
		"il parametro {quoted} compare nell'intestazione protetta e in quella non protetta")
	JWSHeaderOutside = row("JWS_HEADER_NOT_PROTECTED", Error,
		"the header parameter {quoted} counts only where it is signed, and it is not",
		"il parametro {quoted} vale solo se firmato, e non lo è")
	JWSHeaderIgnored = row("JWS_HEADER_IGNORED", Warning,
		"the unsigned header parameter {quoted} was not looked at",
		"il parametro non firmato {quoted} non è stato considerato")
	JWSHeaderForm = row("JWS_HEADER_FORM", Error,
		"the header parameter {quoted} has not the form that its standard gives it",
		"il parametro {quoted} non ha la forma prevista dal suo standard")
	JWSCritForm = row("JWS_CRIT_FORM", Error,
		"crit is no list of names, each once",
		"crit non è un elenco di nomi, ciascuno una volta")
	JWSCritUnknown = row("JWS_CRIT_UNKNOWN", Error,
		"crit names {quoted}, which must be understood and is not known here",
		"crit nomina {quoted}, che deve essere compreso e qui non è noto")
	JWSCritDefined = row("JWS_CRIT_DEFINED", Error,
		"crit names {quoted}, which it must not: every reader understands it",
		"crit nomina {quoted}, cosa vietata: ogni lettore lo comprende")
	JWSCritAbsent = row("JWS_CRIT_ABSENT", Error,
		"crit names {quoted}, which is not in the protected header",
		"crit nomina {quoted}, che non è nell'intestazione protetta")
	JWSCritMissing = row("JWS_CRIT_MISSING", Error,
		"crit does not name {quoted}, which changes what is signed",
		"crit non nomina {quoted}, che cambia ciò che è firmato")
	JWSAlgorithmUnknown = row("JWS_ALGORITHM_UNKNOWN", Warning,
		"the algorithm {quoted} is not known here",
		"l'algoritmo {quoted} qui non è noto")
	JWSAlgorithmNobody = row("JWS_ALGORITHM_NOBODY", Error,
		"the algorithm {quoted} is none by which somebody signs",
		"l'algoritmo {quoted} non è uno con cui qualcuno firma")
	JWSValueUnchecked = row("JWS_VALUE_UNCHECKED", Warning,
		"the signature value cannot be checked{detail}",
		"il valore della firma non può essere verificato{detail}")
	JWSPayload = row("JWS_PAYLOAD", Error,
		"the payload has not the form that its header announces{detail}",
		"il contenuto non ha la forma che l'intestazione annuncia{detail}")
	JWSEncodingDiffers = row("JWS_B64_DIFFERS", Error,
		"the signatures of one payload read it in two ways: b64 differs",
		"le firme di uno stesso contenuto lo leggono in due modi: b64 è diverso")
	JWSMemberUnsigned = row("JWS_MEMBER_UNSIGNED", Warning,
		"the member {quoted} beside the signature is not signed",
		"il membro {quoted} accanto alla firma non è firmato")
	JWSCertUnreadable = row("JWS_CERT_UNREADABLE", Warning,
		"a certificate in {} cannot be read{detail}",
		"un certificato in {} non può essere letto{detail}")
	JWSOtherCert = row("JWS_X5C_OTHER_CERT", Error,
		"x5c shows a certificate that is not the signer's in the signer's place, or beside it",
		"x5c mostra un certificato che non è del firmatario al suo posto, o accanto al suo")
	JWSExpired = row("JWS_EXPIRATION", Warning,
		"the signer says that the signature holds until {time} only (exp)",
		"il firmatario dichiara che la firma vale solo fino a {time} (exp)")
	JAdESSigD = row("JADES_SIGD", Error,
		"sigD does not say what is signed{detail}",
		"sigD non dice che cosa è firmato{detail}")
	JAdESBorders = row("JADES_BORDERS_NOT_SIGNED", Warning,
		"several contents are signed as one, and where one ends and the next begins is not signed",
		"più contenuti sono firmati come uno solo, e non è firmato dove finisce l'uno e comincia l'altro")
	JAdESTime = row("JADES_SIGNING_TIME", Warning,
		"the signing time cannot be read, or is there twice",
		"il momento della firma non può essere letto, o compare due volte")
	JAdESUnsigned = row("JADES_ETSIU", Error,
		"etsiU is no list of components, all in one form{detail}",
		"etsiU non è un elenco di componenti, tutte nella stessa forma{detail}")
	JAdESCounterOther = row("JADES_COUNTER_SIGNS_OTHER", Error,
		"the counter-signature signs something else than the signature that it stands in",
		"la controfirma firma altro rispetto alla firma in cui si trova")
	JAdESTooDeep = row("JADES_COUNTER_SIGNATURES_BEYOND_LIMIT", Warning,
		"counter-signatures that are nested deeper than the limit are not read",
		"le controfirme annidate oltre il limite non sono lette")
)
