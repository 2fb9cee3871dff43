package finding

// What package policy concludes from the facts.
var (
	SignedFileNotInRoot = row("ASIC_S_FILE_NOT_IN_ROOT", Error,
		"The signed file of an ASiC-S container is not in its root folder.",
		"Il file firmato di un contenitore ASiC-S non è nella cartella principale.")
	CertMissing = row("CERT_MISSING", Error,
		"The signing certificate is not in the document.",
		"Il certificato di firma non è nel documento.")
	CertRefIssuerMismatch = row("CERT_REFERENCE_ISSUER_MISMATCH", Warning,
		"Issuer and serial number in {} are not those of the signing certificate.",
		"Emittente e numero di serie in {} non sono quelli del certificato di firma.")
	CertRefMismatch = row("CERT_REFERENCE_MISMATCH", Error,
		"The signed reference to the signing certificate does not match the certificate.",
		"Il riferimento firmato al certificato di firma non corrisponde al certificato.")
	CertRefOneMismatch = row("CERT_REFERENCE_ONE_MISMATCH", Warning,
		"One of several references to the signing certificate does not match.",
		"Uno dei riferimenti al certificato di firma non corrisponde.")
	CertRefRequired = row("CERT_REFERENCE_REQUIRED", Error,
		"The signature does not say which certificate it was made with.",
		"La firma non dice con quale certificato è stata apposta.")
	CertRefMissing = row("CERT_REFERENCE_MISSING", Warning,
		"The signature does not say which certificate it was made with (no signing-certificate attribute).",
		"La firma non dice con quale certificato è stata apposta (manca l'attributo signing-certificate).")

	SignsNothing = row("SIGNATURE_COVERS_NOTHING", Error,
		"The signature covers no data.",
		"La firma non copre alcun dato.")
	ValueWrong = row("SIGNATURE_VALUE_WRONG", Error,
		"The signature value does not verify with the signer's key.",
		"Il valore della firma non è verificato dalla chiave del firmatario.")
	ValueUnchecked = row("SIGNATURE_VALUE_UNCHECKED", Error,
		"The signature value cannot be checked (algorithm {}).",
		"Il valore della firma non può essere controllato (algoritmo {}).")
	DigestWrong = row("DIGEST_WRONG", Error,
		"What is signed was changed: its digest does not match{detail}.",
		"Quanto firmato è stato modificato: la sua impronta non corrisponde{detail}.")
	DigestWrongOf = row("DIGEST_WRONG_OF", Error,
		"What is signed was changed: the digest of {} does not match{detail}.",
		"Quanto firmato è stato modificato: l'impronta di {} non corrisponde{detail}.")
	ContentMissing = row("SIGNED_CONTENT_MISSING", Error,
		"The signed data is missing: the signature is detached, and what it is over was not given{detail}.",
		"Mancano i dati firmati: la firma è separata e il documento firmato non è stato fornito{detail}.")
	ContentMissingOf = row("SIGNED_CONTENT_MISSING_OF", Error,
		"The signed data is missing: {}{detail}.",
		"Mancano i dati firmati: {}{detail}.")
	DigestUnchecked = row("DIGEST_UNCHECKED", Error,
		"The digest of what is signed cannot be checked{detail}.",
		"L'impronta di quanto firmato non può essere controllata{detail}.")
	DigestUncheckedOf = row("DIGEST_UNCHECKED_OF", Error,
		"The digest of {} cannot be checked{detail}.",
		"L'impronta di {} non può essere controllata{detail}.")

	SigningTimeRequired = row("SIGNING_TIME_REQUIRED", Error,
		"The signature claims no signing time.",
		"La firma non dichiara quando è stata apposta.")
	SigningTimeOutsideCert = row("SIGNING_TIME_OUTSIDE_CERT", Warning,
		"The claimed signing time lies outside the validity of the signer's certificate.",
		"Il momento di firma dichiarato è fuori dalla validità del certificato.")
	SigningTimeAfterProof = row("SIGNING_TIME_AFTER_PROOF", Warning,
		"The claimed signing time is later than the proven one.",
		"Il momento di firma dichiarato è successivo a quello provato.")
	ContentStampedLate = row("CONTENT_TIMESTAMP_TOO_LATE", Error,
		"The content was time-stamped after the signature is known to exist.",
		"Il contenuto è stato marcato dopo il momento in cui la firma già esisteva.")
	SignedAfterRevocation = row("SIGNED_AFTER_REVOCATION", Error,
		"The signature was made after the signer's certificate was revoked.",
		"La firma è stata apposta dopo la revoca del certificato.")
	SignedAfterExpiry = row("SIGNED_AFTER_EXPIRY", Error,
		"The signature was made after the signer's certificate had expired.",
		"La firma è stata apposta dopo la scadenza del certificato.")

	ChangeMayCover = row("CHANGE_MAY_COVER", Warning,
		"After signing (allowed, but it may cover what the page says): {change}.",
		"Dopo la firma (ammesso, ma può coprire ciò che la pagina dice): {change}.")
	ChangePermitted = row("CHANGE_PERMITTED", Info,
		"After signing (allowed): {change}.",
		"Dopo la firma (ammesso): {change}.")
	ChangeTolerated = row("CHANGE_TOLERATED", Warning,
		"The document was changed after signing: {change}.",
		"Il documento è stato modificato dopo la firma: {change}.")
	ChangeUnexplained = row("CHANGE_UNEXPLAINED", Error,
		"The document was changed after signing, and nothing shows that the change is harmless: {change}.",
		"Il documento è stato modificato dopo la firma, e nulla mostra che la modifica sia innocua: {change}.")
	ChangeForbidden = row("CHANGE_FORBIDDEN", Error,
		"The document was changed after signing: {change}.",
		"Il documento è stato modificato dopo la firma: {change}.")

	StampNotPassed = row("TIMESTAMP_NOT_PASSED", Warning,
		"{word} time-stamp: {}",
		"Marca temporale ({word}): {}")
	StampUnsigned = row("TIMESTAMP_UNSIGNED", Error,
		"The time-stamp has no signature.",
		"La marca temporale non ha firma.")
	StampInFuture = row("TIMESTAMP_IN_FUTURE", Error,
		"The time-stamp is later than the time of this verdict.",
		"La marca temporale è successiva alla data di questo esito.")
	StampOverOtherData = row("TIMESTAMP_OVER_OTHER_DATA", Error,
		"The time-stamp is over other data.",
		"La marca temporale riguarda altri dati.")
	StampDataMissing = row("TIMESTAMP_DATA_MISSING", Error,
		"The data under the time-stamp is missing.",
		"Mancano i dati marcati.")
	StampCertNotUnit = row("TIMESTAMP_CERT_NOT_A_UNIT", Error,
		"The certificate of the time-stamp is not one of a time-stamping unit.",
		"Il certificato della marca non è di un'unità di validazione temporale.")
	StampCertNotAlone = row("TIMESTAMP_CERT_OTHER_USES", Error,
		"The certificate of the time-stamp is not for time-stamping alone.",
		"Il certificato della marca temporale non è riservato alla sola marcatura temporale.")
	StampCertMayNotSign = row("TIMESTAMP_CERT_MAY_NOT_SIGN", Error,
		"The key usage of the time-stamp's certificate does not allow signing.",
		"L'uso della chiave del certificato della marca temporale non consente di firmare.")
	StampOutsideCert = row("TIMESTAMP_OUTSIDE_CERT", Error,
		"The time-stamp lies outside the validity of its certificate.",
		"La marca temporale è fuori dalla validità del suo certificato.")

	DigestNotAccepted = row("DIGEST_ALGORITHM_NOT_ACCEPTED", Error,
		"The digest algorithm {} of the {word} is not one that the policy accepts.",
		"L'algoritmo di impronta {} ({word}) non è tra quelli accettati.")
	DigestUnreliable = row("DIGEST_ALGORITHM_UNRELIABLE", Error,
		"The digest algorithm {} of the {word} is not reliable since {time}, and nothing proves that it is older.",
		"L'algoritmo di impronta {} ({word}) non è affidabile dal {time}, e nulla prova che sia anteriore.")
	KeyTooWeak = row("KEY_TOO_WEAK", Error,
		"The {} key of {} bits of the {word} is too weak.",
		"La chiave {} di {} bit ({word}) è troppo debole.")
	KeyUnreliable = row("KEY_UNRELIABLE", Error,
		"The {} key of {} bits of the {word} is not reliable since {time}, and nothing proves that it is older.",
		"La chiave {} di {} bit ({word}) non è affidabile dal {time}, e nulla prova che sia anteriore.")

	NoTrustedPath = row("CERT_NOT_TRUSTED", Error,
		"The certificate is not issued by a trusted authority.",
		"Il certificato non risulta emesso da un'autorità fidata.")
	ListOverdueWarning = row("TRUSTED_LIST_OLD", Warning,
		"The trusted list is past its NextUpdate.",
		"L'elenco di fiducia ha superato il NextUpdate.")
	ListOverdue = row("TRUSTED_LIST_STALE", Error,
		"The trusted list that vouches for the issuer is past its NextUpdate.",
		"L'elenco di fiducia che garantisce l'emittente ha superato il NextUpdate.")
	ServiceOfOtherType = row("SERVICE_OF_OTHER_TYPE", Error,
		"The trusted list names {} as a service of type {}, which does not vouch for this.",
		"L'elenco di fiducia riporta {} come servizio di tipo {}, che non garantisce questo uso.")
	ServiceNotGranted = row("SERVICE_NOT_GRANTED", Error,
		"The service {} was not granted on its trusted list.",
		"Il servizio {} non era qualificato nel suo elenco di fiducia.")
	ServiceWithdrawn = row("SERVICE_WITHDRAWN", Error,
		"The service {} is not granted on its trusted list since {time}, and nothing proves that the signature is older.",
		"Il servizio {} non è più qualificato nel suo elenco di fiducia dal {time}, e nulla prova che la firma sia anteriore.")

	CertSuspended = row("CERT_SUSPENDED", Error,
		"The certificate of {} was suspended on {time}.",
		"Il certificato di {} è stato sospeso il {time}.")
	CertRevoked = row("CERT_REVOKED", Error,
		"The certificate of {} was revoked on {time}, and nothing proves that the signature is older.",
		"Il certificato di {} è stato revocato il {time}, e nulla prova che la firma sia anteriore.")
	IssuerRevoked = row("ISSUER_REVOKED", Error,
		"The certificate of the authority {} was revoked on {time}.",
		"Il certificato dell'autorità {} è stato revocato il {time}.")
	CertRevokedLater = row("CERT_REVOKED_LATER", Info,
		"The certificate of {} was revoked on {time}, after the signature is known to exist.",
		"Il certificato di {} è stato revocato il {time}, quando la firma già esisteva.")
	CertMayBeYounger = row("CERT_NOT_PROVEN_OLDER", Error,
		"Nothing proves that the certificate of {} is from before {time}, since when {} cannot be relied on.",
		"Nulla prova che il certificato di {} sia anteriore al {time}, da quando {} non è più affidabile.")
	RevocationMayBeYounger = row("REVOCATION_DATA_NOT_PROVEN_OLDER", Error,
		"Nothing proves that the revocation data for {} is from before {time}, since when {} cannot be relied on.",
		"Nulla prova che i dati di revoca per {} siano anteriori al {time}, da quando {} non è più affidabile.")
	RevocationSignerExpired = row("REVOCATION_SIGNER_EXPIRED", Error,
		"Whoever signed the revocation data for {} has a certificate that is over by now, and nothing proves that the data is older.",
		"Chi ha firmato i dati di revoca per {} ha un certificato ormai scaduto, e nulla prova che i dati siano anteriori.")
	RevocationInFuture = row("REVOCATION_DATA_IN_FUTURE", Error,
		"The revocation data for {} was issued after {time}, the time of this verdict.",
		"I dati di revoca per {} sono stati emessi dopo il {time}, il momento di questo verdetto.")
	RevocationStale = row("REVOCATION_DATA_STALE", Error,
		"The revocation data for {} is too old for {time}.",
		"I dati di revoca per {} sono troppo vecchi per il {time}.")
	RevocationMissing = row("REVOCATION_DATA_MISSING", Error,
		"There is no revocation data for {}.",
		"Mancano i dati di revoca per {}.")
	RevocationNowhere = row("REVOCATION_NOWHERE_TO_ASK", Error,
		"The certificate of {} names no place where its revocation could be asked for, neither a list (CRL) nor a service (OCSP).",
		"Il certificato di {} non indica alcun luogo dove chiedere se è revocato: né una lista (CRL) né un servizio (OCSP).")
	SignedBeforeCert = row("SIGNED_BEFORE_CERT", Error,
		"The certificate of {} is valid from {time} only: the signature cannot have been made with it before.",
		"Il certificato di {} è valido solo dal {time}: la firma non può essere stata apposta prima con esso.")
	CertNotYetValid = row("CERT_NOT_YET_VALID", Error,
		"The certificate of {} is valid from {time} only.",
		"Il certificato di {} è valido solo dal {time}.")
	CertExpired = row("CERT_EXPIRED", Error,
		"The certificate of {} expired on {time}, and nothing proves that the signature is older.",
		"Il certificato di {} è scaduto il {time}, e nulla prova che la firma sia anteriore.")
	AnchorNotYetValid = row("ANCHOR_NOT_YET_VALID", Error,
		"The trusted certificate of {} is valid from {time} only.",
		"Il certificato fidato di {} è valido solo dal {time}.")
	CertMayNotSign = row("CERT_KEY_USAGE", Error,
		"The key usage of {} allows neither digitalSignature nor nonRepudiation.",
		"L'uso della chiave di {} non consente né digitalSignature né nonRepudiation.")
	CertNotForSigning = row("CERT_EXTENDED_KEY_USAGE", Error,
		"The certificate of {} is not for signing documents by its extended key usage.",
		"Il certificato di {}, per il suo uso esteso della chiave, non serve a firmare documenti.")
	IssuerNotForSigners = row("ISSUER_EXTENDED_KEY_USAGE", Error,
		"The authority {} is not for issuing certificates of signers by its extended key usage.",
		"L'autorità {}, per il suo uso esteso della chiave, non serve a emettere certificati di firmatari.")
	TestCertificate = row("TEST_CERTIFICATE", Warning,
		"The certificate is a test certificate (SANDBOX): the signature has no legal value.",
		"Il certificato è di prova (SANDBOX): la firma non ha valore legale.")
)

// What package trust finds wrong with a path, and could not fetch.
var (
	NoValidPolicy = row("PATH_NO_VALID_POLICY", Error,
		"No certificate policy is valid for the whole path.",
		"Nessuna politica di certificazione vale per tutto il percorso.")
	TrustedForItself = row("ANCHOR_NOT_AN_AUTHORITY", Error,
		"{} is trusted, but only for itself{detail}.",
		"{} è fidato, ma solo per sé stesso{detail}.")
	UnknownCriticalExtension = row("PATH_CRITICAL_EXTENSION", Error,
		"{} has the critical extension {}, which is not known.",
		"{} ha l'estensione critica {}, che non è conosciuta.")
	ExtensionUnreadable = row("PATH_EXTENSION_UNREADABLE", Error,
		"{} has the extension {}, which cannot be read or occurs twice.",
		"{} ha l'estensione {}, che non può essere letta o è ripetuta.")
	NotAuthority = row("PATH_ISSUER_NOT_AN_AUTHORITY", Error,
		"{} is no authority that may issue certificates{detail}.",
		"{} non è un'autorità che possa emettere certificati{detail}.")
	PathTooLong = row("PATH_TOO_LONG", Error,
		"More authorities stand below {} than it allows.",
		"Sotto {} ci sono più autorità di quante ne ammetta.")
	NameConstraintsOdd = row("PATH_NAME_CONSTRAINTS_UNREADABLE", Error,
		"The name constraints of {} cannot be applied{detail}.",
		"I vincoli sui nomi di {} non si possono applicare{detail}.")
	NameForbidden = row("PATH_NAME_NOT_PERMITTED", Error,
		"A name of {} is not one that those above it permit{detail}.",
		"Un nome di {} non è tra quelli ammessi da chi sta sopra{detail}.")
	GatheringEnded = row("GATHERING_BROKEN_OFF", Info,
		"The gathering of validation data was broken off{detail}.",
		"La raccolta dei dati di validazione è stata interrotta{detail}.")
	TooMuchEvidence = row("TOO_MUCH_EVIDENCE", Info,
		"The document holds more certificates and revocation data than one verification looks at: the rest was left out.",
		"Il documento contiene più certificati e dati di revoca di quanti ne guardi una verifica: il resto è stato tralasciato.")
	CertUnreadable = row("CERT_UNREADABLE", Info,
		"A certificate cannot be read{detail}.",
		"Un certificato non può essere letto{detail}.")
	TooMuchRevocationData = row("TOO_MUCH_REVOCATION_DATA", Info,
		"There are more than {} pieces of revocation data: the rest was not looked at.",
		"Ci sono più di {} dati di revoca: il resto non è stato guardato.")
	EvidenceUnreadable = row("REVOCATION_DATA_UNREADABLE", Info,
		"{} from {} cannot be read.",
		"{} da {} non può essere letto.")
	IssuerNotFetched = row("ISSUER_NOT_FETCHED", Info,
		"The certificate of the issuer of {} could not be fetched{detail}.",
		"Il certificato dell'emittente di {} non si è potuto ottenere{detail}.")
	OCSPNotFetched = row("OCSP_NOT_FETCHED", Info,
		"The OCSP answer for {} could not be fetched{detail}.",
		"La risposta OCSP per {} non si è potuta ottenere{detail}.")
	CRLNotFetched = row("CRL_NOT_FETCHED", Info,
		"The revocation list for {} could not be fetched{detail}.",
		"La lista di revoca per {} non si è potuta ottenere{detail}.")
)
