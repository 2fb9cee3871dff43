package finding

// Of files as such.
var (
	Malformed = row("MALFORMED", Error,
		"malformed {}{detail}",
		"{} malformato{detail}")
	Unreadable = row("UNREADABLE", Error,
		"cannot be read{detail}",
		"non può essere letto{detail}")
	LooksLike = row("LOOKS_LIKE", Info,
		"this looks like {} but cannot be read{detail}",
		"sembra {} ma non può essere letto{detail}")
	NotJudged = row("KIND_NOT_JUDGED", Warning,
		"this is {word}; Rogito does not judge it",
		"questo file è {word}; Rogito non lo giudica")
	TooManyLayers = row("TOO_MANY_LAYERS", Info,
		"more than {} layers: what is inside was not opened",
		"più di {} livelli: il contenuto interno non è stato aperto")
	NestedNotJudged = row("NESTED_NOT_JUDGED", Warning,
		"There is a signed document inside that was not judged{detail}.",
		"All'interno c'è un documento firmato che non è stato giudicato{detail}.")
	TooLong = row("READING_TOO_LONG", Error,
		"reading the document takes too long",
		"la lettura del documento richiede troppo tempo")
	TooMuch = row("BUDGET_EXCEEDED", Error,
		"the document unpacks to more than is allowed",
		"il documento decompresso supera quanto ammesso")
	TooManyChecks = row("TOO_MANY_SIGNATURE_CHECKS", Warning,
		"the document asks for too many and too costly signature checks",
		"il documento chiede troppe e troppo costose verifiche di firme")
	CutOff = row("FILE_CUT_OFF", Error,
		"the file ends within the revision that was signed",
		"il file finisce dentro la revisione firmata")
	HoldsOtherDocument = row("HOLDS_OTHER_DOCUMENT", Error,
		"bytes that nobody signed hold the beginning of another document",
		"byte che nessuno ha firmato contengono l'inizio di un altro documento")
	PasswordWrong = row("PASSWORD_WRONG", Error,
		"wrong or missing password",
		"password errata o mancante")
)

// Of CMS: CAdES, PKCS#7, and the signatures in PDF and time-stamps.
var (
	CMSTypeUnsigned = row("CMS_CONTENT_TYPE_UNSIGNED", Error,
		"content of a type other than id-data without signed attributes",
		"contenuto di un tipo diverso da id-data senza attributi firmati")
	CMSTypeOther = row("CMS_CONTENT_TYPE_OTHER", Warning,
		"content of a type other than id-data",
		"contenuto di un tipo diverso da id-data")
	SignatureTwice = row("SIGNATURE_TWICE", Error,
		"the same signature twice",
		"la stessa firma due volte")
	CMSContentIsAttributes = row("CMS_CONTENT_IS_ATTRIBUTES", Error,
		"the content is the signed attributes of another signature",
		"il contenuto sono gli attributi firmati di un'altra firma")
	CMSAlgorithmUnknown = row("CMS_ALGORITHM_UNKNOWN", Warning,
		"the signature algorithm is not known{detail}",
		"l'algoritmo di firma non è conosciuto{detail}")
	CMSHashMismatch = row("CMS_HASH_MISMATCH", Error,
		"the hash of the signature algorithm is not the digest algorithm",
		"la funzione di impronta dell'algoritmo di firma non è quella dichiarata")
	CMSEd448Hash = row("CMS_ED448_HASH", Error,
		"Ed448 goes with SHAKE256 only (RFC 8419)",
		"Ed448 va solo con SHAKE256 (RFC 8419)")
	AttributeNotOnce = row("ATTRIBUTE_NOT_ONCE", Error,
		"{}: must be there once, with one value",
		"{}: deve esserci una volta, con un solo valore")
	AttributeMissing = row("ATTRIBUTE_MISSING", Error,
		"{}: missing",
		"{}: manca")
	AttributeInCounterSignature = row("ATTRIBUTE_IN_COUNTER_SIGNATURE", Warning,
		"{}: must not be in a counter-signature",
		"{}: non deve essere in una controfirma")
	ContentTypeWrong = row("ATTRIBUTE_CONTENT_TYPE_WRONG", Error,
		"{}: is not the type of the content",
		"{}: non è il tipo del contenuto")
	AttributeMustNotBeSigned = row("ATTRIBUTE_MUST_NOT_BE_SIGNED", Warning,
		"{}: must not be signed",
		"{}: non deve essere firmato")
	AlgorithmProtection = row("ATTRIBUTE_ALGORITHM_PROTECTION", Error,
		"{}: does not match the algorithms in use",
		"{}: non corrisponde agli algoritmi usati")
	AttributesNotDER = row("ATTRIBUTES_NOT_DER", Warning,
		"the signed attributes are not stored in DER order",
		"gli attributi firmati non sono registrati nell'ordine DER")
	SigningTimeUnreadable = row("SIGNING_TIME_UNREADABLE", Warning,
		"the signing time cannot be read{detail}",
		"il momento di firma non può essere letto{detail}")
	ArchiveIndexUnreadable = row("ARCHIVE_INDEX_UNREADABLE", Error,
		"the ats-hash-index cannot be read{detail}",
		"l'ats-hash-index non può essere letto{detail}")
	ArchiveIndexUnfounded = row("ARCHIVE_INDEX_UNFOUNDED", Warning,
		"the index of an archive time-stamp names something that is not in the file",
		"l'indice di una marca temporale di archivio indica qualcosa che non è nel file")
	EvidenceRecordUnreadable = row("EVIDENCE_RECORD_UNREADABLE", Warning,
		"an evidence record cannot be read, or there are too many{detail}",
		"un evidence record non può essere letto, o ce ne sono troppi{detail}")
	EvidenceRecordProblem = row("EVIDENCE_RECORD_PROBLEM", Warning,
		"the evidence record does not hold{detail}",
		"l'evidence record non regge{detail}")
	EvidenceRecordFile = row("EVIDENCE_RECORD_FILE_CHANGED", Warning,
		"a file under the evidence record is missing or changed: {}",
		"un file sotto l'evidence record manca o è stato modificato: {}")
)

// Of messages: S/MIME, and what a time-stamped message is wrapped in.
var (
	MIMETwoMessages = row("MIME_TWO_MESSAGES", Error,
		"more than one message in the file",
		"più di un messaggio nel file")
	MIMEHeaderTwice = row("MIME_HEADER_TWICE", Error,
		"the header {} occurs twice",
		"l'intestazione {} compare due volte")
	MIMEMultipartEncoded = row("MIME_MULTIPART_ENCODED", Error,
		"a multipart in a transfer encoding",
		"un multipart in una codifica di trasferimento")
	MIMEMessageEncoded = row("MIME_MESSAGE_ENCODED", Error,
		"a message in a transfer encoding",
		"un messaggio in una codifica di trasferimento")
	MIMECommentInHeader = row("MIME_COMMENT_IN_HEADER", Error,
		"a comment in the header that others may take for a part of it",
		"un commento nell'intestazione che altri possono prendere per una sua parte")
	MIMEParametersOdd = row("MIME_PARAMETERS_ODD", Error,
		"the parameters of the media type are not written as such",
		"i parametri del tipo di contenuto non sono scritti come tali")
	MIMEParameterTwice = row("MIME_PARAMETER_TWICE", Error,
		"a parameter of the media type occurs twice",
		"un parametro del tipo di contenuto compare due volte")
	MIMEParameterInPieces = row("MIME_PARAMETER_IN_PIECES", Error,
		"a parameter of the media type is written in pieces",
		"un parametro del tipo di contenuto è scritto a pezzi")
	MIMEParameterEncoded = row("MIME_PARAMETER_ENCODED", Error,
		"a parameter of the media type is encoded",
		"un parametro del tipo di contenuto è codificato")
	MIMECharset = row("MIME_MULTIPART_CHARSET", Error,
		"a multipart in a character set of its own",
		"un multipart in un insieme di caratteri proprio")
	MIMEBoundaryOdd = row("MIME_BOUNDARY_ODD", Error,
		"the boundary of the parts is one that readers take in different ways",
		"il delimitatore delle parti è letto in modi diversi dai programmi")
	MIMEControlCharacter = row("MIME_CONTROL_CHARACTER", Error,
		"a control character in the header",
		"un carattere di controllo nell'intestazione")
	MIMELineContinuesNothing = row("MIME_LINE_CONTINUES_NOTHING", Error,
		"a line of the header continues nothing",
		"una riga dell'intestazione non continua nulla")
	MIMEFieldName = row("MIME_FIELD_NAME", Error,
		"a field of the header has a name that is none",
		"un campo dell'intestazione ha un nome che non è valido")
	MIMELineLikeBoundary = row("MIME_LINE_LIKE_BOUNDARY", Error,
		"a line that begins like a boundary and is none",
		"una riga che comincia come un delimitatore e non lo è")
	MIMEBoundaryAfterLast = row("MIME_BOUNDARY_AFTER_LAST", Error,
		"a boundary after the last one",
		"un delimitatore dopo l'ultimo")
	MIMELineOutside = row("MIME_LINE_OUTSIDE", Error,
		"a line outside the parts that others may take for a boundary",
		"una riga fuori dalle parti che altri possono prendere per un delimitatore")
	MIMEBareLineBreak = row("MIME_BARE_LINE_BREAK", Error,
		"a boundary behind a line break of one character",
		"un delimitatore dopo un'interruzione di riga di un solo carattere")
	MIMETextOutside = row("MIME_TEXT_OUTSIDE", Error,
		"text outside the parts of the message",
		"testo fuori dalle parti del messaggio")
	MIMEBoundaryPrefix = row("MIME_BOUNDARY_PREFIX", Error,
		"the boundary of the message begins like that of a part",
		"il delimitatore del messaggio comincia come quello di una sua parte")
	MIMEPartWithoutHeader = row("MIME_PART_WITHOUT_HEADER", Error,
		"a part of the message has no header of its own, and readers differ in what of it they show",
		"una parte del messaggio non ha un'intestazione propria, e i programmi ne mostrano cose diverse")
)

// Of time-stamps and the files that hold them.
var (
	StampUnreadable = row("TIMESTAMP_UNREADABLE", Error,
		"a time-stamp cannot be read{detail}",
		"una marca temporale non può essere letta{detail}")
	StampImprintUnknown = row("TIMESTAMP_IMPRINT_UNKNOWN", Warning,
		"what a time-stamp is over cannot be told{detail}",
		"non si può dire su che cosa sia una marca temporale{detail}")
	StampWithoutToken = row("TIMESTAMP_WITHOUT_TOKEN", Warning,
		"time-stamp without token",
		"marca temporale senza contenuto")
	StampsBeyondLimit = row("TIMESTAMPS_BEYOND_LIMIT", Warning,
		"time-stamps beyond the limit are not read",
		"le marche temporali oltre il limite non sono lette")
	StampDocuments = row("TIMESTAMP_DOCUMENTS", Error,
		"{} documents beside the time-stamp in place of one",
		"{} documenti accanto alla marca temporale invece di uno")
)

// Of PDF.
var (
	PDFRepaired = row("PDF_REPAIRED", Warning,
		"the cross-reference table had to be repaired{detail}",
		"la tabella dei riferimenti ha dovuto essere riparata{detail}")
	PDFTwoReadings = row("PDF_TWO_READINGS", Error,
		"readers show different things for what was signed: {}",
		"i lettori mostrano cose diverse di ciò che è stato firmato: {}")
	PDFUpdateTwoReadings = row("PDF_UPDATE_TWO_READINGS", Error,
		"readers show different things since what follows the signature was added: {}",
		"i lettori mostrano cose diverse da quando è stato aggiunto ciò che segue la firma: {}")
	PDFUpdateForeign = row("PDF_UPDATE_OTHER_DOCUMENT", Error,
		"what follows the signature holds another document: {}",
		"ciò che segue la firma contiene un altro documento: {}")
	PDFWrittenAnew = row("PDF_WRITTEN_ANEW", Warning,
		"the document could be read in more than one way, and was written anew before it was signed",
		"il documento si poteva leggere in più modi, ed è stato riscritto prima della firma")
	PDFSignatureGone = row("PDF_SIGNATURE_TAKEN_OUT", Info,
		"an earlier revision of the document is signed (field {}, revision {} of {}), and the signature was taken out later",
		"una revisione precedente del documento è firmata (campo {}, revisione {} di {}), e la firma è stata tolta in seguito")
	PDFUsageRightsVoid = row("PDF_USAGE_RIGHTS_VOID", Warning,
		"void usage rights{detail}",
		"diritti d'uso privi di effetto{detail}")
	PDFStoreUnreadable = row("PDF_DSS_UNREADABLE", Warning,
		"validation data of the file cannot be read{detail}",
		"dati di validazione del file non possono essere letti{detail}")
	PDFFieldsTooMany = row("PDF_FIELD_REPEATS", Warning,
		"field {} repeats, or the form is too large",
		"il campo {} è ripetuto, o il modulo è troppo grande")
	PDFFieldUnreadable = row("PDF_FIELD_UNREADABLE", Warning,
		"field {} cannot be read{detail}",
		"il campo {} non può essere letto{detail}")
	PDFDictionaryUnreadable = row("PDF_SIGNATURE_UNREADABLE", Error,
		"the signature dictionary cannot be read{detail}",
		"il dizionario della firma non può essere letto{detail}")
	PDFNoDictionary = row("PDF_SIGNATURE_NO_DICTIONARY", Error,
		"the value of the field is no signature dictionary",
		"il valore del campo non è un dizionario di firma")
	PDFKeyTwice = row("PDF_SIGNATURE_KEY_TWICE", Error,
		"key {} occurs more than once",
		"la chiave {} è ripetuta")
	PDFNoSignature = row("PDF_CONTENTS_MISSING", Error,
		"no signature",
		"nessuna firma")
	PDFNoByteRange = row("PDF_BYTERANGE_MISSING", Error,
		"no byte range",
		"manca l'intervallo di byte")
	PDFRangeNumbers = row("PDF_BYTERANGE_NUMBERS", Error,
		"{} numbers instead of 4",
		"{} numeri invece di 4")
	PDFRangeNoOffset = row("PDF_BYTERANGE_NO_OFFSET", Error,
		"number {} is no offset",
		"il numero {} non è una posizione")
	PDFRangeStart = row("PDF_BYTERANGE_START", Error,
		"does not begin at the start of the file",
		"non comincia all'inizio del file")
	PDFRangeOverlap = row("PDF_BYTERANGE_OVERLAP", Error,
		"ranges overlap or leave no gap",
		"gli intervalli si sovrappongono o non lasciano spazio")
	PDFRangePastEnd = row("PDF_BYTERANGE_PAST_END", Error,
		"ends past the end of the file",
		"finisce oltre la fine del file")
	PDFRangeEmpty = row("PDF_BYTERANGE_EMPTY", Error,
		"second range is empty",
		"il secondo intervallo è vuoto")
	PDFContentsElsewhere = row("PDF_CONTENTS_ELSEWHERE", Error,
		"does not stand in the file itself",
		"non si trova nel file stesso")
	PDFGapNotContents = row("PDF_GAP_NOT_CONTENTS", Error,
		"the gap is not the Contents string",
		"lo spazio non è la stringa Contents")
	PDFContentsNotHex = row("PDF_CONTENTS_NOT_HEX", Error,
		"Contents is no hexadecimal string",
		"Contents non è una stringa esadecimale")
	PDFRangeNoRevision = row("PDF_BYTERANGE_NO_REVISION", Error,
		"does not end where a revision of the document ends",
		"non finisce dove finisce una revisione del documento")
	PDFDictionaryOutside = row("PDF_SIGNATURE_OUTSIDE_REVISION", Error,
		"the dictionary stands outside the signed revision",
		"il dizionario è fuori dalla revisione firmata")
	PDFRevisionUnreadable = row("PDF_REVISION_UNREADABLE", Error,
		"the signed revision cannot be read{detail}",
		"la revisione firmata non può essere letta{detail}")
	PDFDictionaryOther = row("PDF_SIGNATURE_OTHER_IN_REVISION", Error,
		"the signature dictionary is not the one in the signed revision",
		"il dizionario della firma non è quello della revisione firmata")
	PDFDictionaryNotIn = row("PDF_SIGNATURE_NOT_IN_REVISION", Error,
		"the signature dictionary is not in the signed revision",
		"il dizionario della firma non è nella revisione firmata")
	PDFNoCMS = row("PDF_NO_CMS", Error,
		"no CMS signature{detail}",
		"nessuna firma CMS{detail}")
	PDFDataAfterCMS = row("PDF_DATA_AFTER_CMS", Warning,
		"data that nothing signs after the end of the signature",
		"dati che nulla firma dopo la fine della firma")
	PDFSigners = row("PDF_MORE_THAN_ONE_SIGNER", Error,
		"more than one signer",
		"più di un firmatario")
	PDFOwnContent = row("PDF_SIGNATURE_OWN_CONTENT", Error,
		"a detached signature carries content of its own",
		"una firma separata porta un contenuto proprio")
	PDFNoValue = row("PDF_NO_SIGNATURE_VALUE", Error,
		"no signature value{detail}",
		"manca il valore della firma{detail}")
	PDFBareRSA = row("PDF_BARE_RSA", Warning,
		"adbe.x509.rsa_sha1: a bare RSA value with the certificate in /Cert, a form that ISO 32000-2 has given up",
		"adbe.x509.rsa_sha1: un semplice valore RSA con il certificato in /Cert, una forma che ISO 32000-2 ha abbandonato")
	PDFBareRSACert = row("PDF_BARE_RSA_CERT", Warning,
		"the certificate that adbe.x509.rsa_sha1 wants in /Cert is missing or cannot be read",
		"il certificato che adbe.x509.rsa_sha1 vuole in /Cert manca o non può essere letto")
	PDFNotDocTimeStamp = row("PDF_NOT_DOCTIMESTAMP", Warning,
		"the Type of a document time-stamp is not DocTimeStamp",
		"il Type di una marca temporale del documento non è DocTimeStamp")
)

// Of files and what stands around the signature in them.
var (
	FileTooLarge = row("FILE_TOO_LARGE", Error,
		"{} bytes are too many for this kind of file",
		"{} byte sono troppi per questo tipo di file")
	CMSBytesAfter = row("CMS_BYTES_AFTER", Error,
		"{} bytes after the end of the signature",
		"{} byte dopo la fine della firma")
	CMSDataAfter = row("CMS_DATA_AFTER", Error,
		"data after the end of the signature",
		"dati dopo la fine della firma")
	ArmourDataAfter = row("ARMOUR_DATA_AFTER", Error,
		"data after the end of the base64",
		"dati dopo la fine del base64")
	ArmourTextAround = row("ARMOUR_TEXT_AROUND", Error,
		"text before or after the PEM block",
		"testo prima o dopo il blocco PEM")
	ArmourNoEnd = row("ARMOUR_NO_END", Error,
		"the PEM block has no end",
		"il blocco PEM non ha fine")
	ArmourSecondBlock = row("ARMOUR_SECOND_BLOCK", Error,
		"a second PEM block",
		"un secondo blocco PEM")
	NoStampToken = row("TIMESTAMP_NO_TOKEN", Error,
		"not a time-stamp token",
		"non è una marca temporale")
	StampTokensTooMany = row("TIMESTAMP_TOKENS_TOO_MANY", Error,
		"more than {} time-stamps of one file",
		"più di {} marche temporali di un solo file")
	MIMENoType = row("MIME_NO_TYPE", Error,
		"no media type",
		"manca il tipo di contenuto")
	MIMENoMultipart = row("MIME_NO_MULTIPART", Error,
		"not a multipart message",
		"non è un messaggio in più parti")
	MIMENoEnd = row("MIME_NO_LAST_BOUNDARY", Error,
		"the last boundary is missing",
		"manca l'ultimo delimitatore")
	MIMENoHeaderEnd = row("MIME_NO_HEADER_END", Error,
		"no end of the header",
		"l'intestazione non finisce")
	MIMETooManyParts = row("MIME_TOO_MANY_PARTS", Error,
		"too many parts",
		"troppe parti")
	MIMETooDeep = row("MIME_TOO_DEEP", Error,
		"too many messages in messages",
		"troppi messaggi dentro messaggi")
	MIMEParts = row("MIME_PARTS", Error,
		"{} parts in place of a content and its signature",
		"{} parti invece di un contenuto e della sua firma")
	PECUnreadable = row("PEC_UNREADABLE", Error,
		"what the provider of certified mail says (daticert.xml) cannot be read{detail}",
		"quanto dichiara il gestore della PEC (daticert.xml) non può essere letto{detail}")
	PECHeader = row("PEC_HEADER_DIFFERS", Error,
		"the header of the message, which nobody signed, says something else than the provider of certified mail: {}",
		"l'intestazione del messaggio, che nessuno ha firmato, dice altro rispetto al gestore della PEC: {}")
	MailParts = row("MAIL_PARTS", Info,
		"not all parts of the message could be opened{detail}",
		"non tutte le parti del messaggio si sono potute aprire{detail}")
	MIMEOwnContent = row("MIME_SIGNATURE_OWN_CONTENT", Error,
		"the signature of the message carries content of its own",
		"la firma del messaggio porta un contenuto proprio")
)

var TooManySignatures = row("TOO_MANY_SIGNATURES", Error,
	"more than {} signatures",
	"più di {} firme")
