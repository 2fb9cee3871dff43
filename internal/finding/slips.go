package finding

// Slips of the producer of a PDF. Inside the signed bytes they are warnings; what
// was appended after a signature must be without them.
var (
	SlipHeader = row("PDF_HEADER_OFFSET", Warning,
		"{} stands at byte {}, but offsets are not counted from there",
		"{} è al byte {}, ma le posizioni non si contano da lì")
	SlipPrefix = row("PDF_HEADER_PREFIX", Warning,
		"{} has an object before it",
		"{} ha un oggetto davanti a sé")
	SlipXRef = row("PDF_XREF_BROKEN", Warning,
		"{} has no valid cross-reference section at its end, so each reader rebuilds its own",
		"{} non ha alla fine una sezione di riferimenti valida: ogni lettore se la ricostruisce")
	SlipEnd = row("PDF_END_NOT_FOUND", Warning,
		"{} has no startxref in its last {} bytes: some readers rebuild the tables",
		"{} non ha startxref negli ultimi {} byte: alcuni lettori ricostruiscono le tabelle")
	SlipEndUnclear = row("PDF_END_UNCLEAR", Warning,
		"{} has no clear startxref",
		"{} non ha uno startxref chiaro")
	SlipEOF = row("PDF_EOF_MISSING", Warning,
		"{} lacks %%EOF after startxref",
		"{} non ha %%EOF dopo startxref")
	SlipSizeMissing = row("PDF_SIZE_MISSING", Warning,
		"{} has no Size",
		"{} non ha Size")
	SlipSize = row("PDF_SIZE_TOO_SMALL", Warning,
		"{} has the Size {}, but there is an object {}",
		"{} ha Size {}, ma esiste un oggetto {}")
	SlipHybrid = row("PDF_HYBRID_CONTRADICTS", Warning,
		"{} and the stream beside it contradict each other about object {}",
		"{} e lo stream che la accompagna si contraddicono sull'oggetto {}")
	SlipHybrids = row("PDF_HYBRID_TOO_MANY", Warning,
		"{} has a stream beside it, like too many others to be compared",
		"{} è accompagnata da uno stream, come troppe altre per essere confrontate")
	SlipHybridPrev = row("PDF_HYBRID_PREV", Warning,
		"{} and the stream beside it have different Prev entries",
		"{} e lo stream che la accompagna hanno Prev diversi")
	SlipPrev = row("PDF_PREV_NOT_WHOLE", Warning,
		"{} has a Prev that is no whole number",
		"{} ha un Prev che non è un numero intero")
	SlipPrevBehind = row("PDF_PREV_BEHIND", Warning,
		"{} refers to an earlier revision that stands behind it",
		"{} rimanda a una revisione precedente che sta dopo")
	SlipLinearised = row("PDF_LINEARISATION_WRONG", Warning,
		"{} is not followed by the section that startxref names",
		"{} non è seguito dalla sezione indicata da startxref")
	SlipLines = row("PDF_TABLE_LINES", Warning,
		"{} has lines that are not 20 bytes long",
		"{} ha righe che non sono di 20 byte")
	SlipFromOne = row("PDF_TABLE_FROM_ONE", Warning,
		"{} counts its objects from 1, but begins with the head of the free list",
		"{} conta gli oggetti da 1, ma comincia con la testa dei liberi")
	SlipRowTwice = row("PDF_TABLE_ROW_TWICE", Warning,
		"{} defines object {} twice",
		"{} definisce due volte l'oggetto {}")
	SlipTableCoding = row("PDF_TABLE_ENCODING", Warning,
		"{} is a stream that readers decode in different ways: {}",
		"{} è uno stream che i lettori decodificano in modi diversi: {}")
	SlipTableShort = row("PDF_TABLE_SHORT", Warning,
		"{} has fewer entries than its Index names",
		"{} ha meno voci di quante ne annuncia Index")
	SlipTableLong = row("PDF_TABLE_LONG", Warning,
		"{} has more entries than its Index names",
		"{} ha più voci di quante ne annuncia Index")
	SlipRowUnknown = row("PDF_TABLE_ROW_UNKNOWN", Warning,
		"{} has an entry of unknown type for object {}",
		"{} ha una voce di tipo sconosciuto per l'oggetto {}")
	SlipTableComment = row("PDF_TABLE_COMMENT", Warning,
		"{} has a comment in its lines",
		"{} ha un commento tra le righe")
	SlipNoTrailer = row("PDF_TRAILER_MISSING", Warning,
		"{} has no trailer",
		"{} non ha trailer")
	SlipEncrypt = row("PDF_ENCRYPTION_CHANGED", Warning,
		"{} has another Encrypt entry than the revision before",
		"{} ha una voce Encrypt diversa da quella della revisione precedente")
	SlipEncryptDict = row("PDF_ENCRYPTION_REPLACED", Warning,
		"{} holds the encryption, and a later revision replaces it",
		"{} contiene la cifratura, e una revisione successiva lo sostituisce")
	SlipSameOffset = row("PDF_OFFSET_SHARED", Warning,
		"{} stands at offset {}, and so does {}",
		"{} è alla posizione {}, come anche {}")
	SlipOutside = row("PDF_OFFSET_OUTSIDE", Warning,
		"{} stands at offset {}, outside the file",
		"{} è alla posizione {}, fuori dal file")
	SlipWithin = row("PDF_OFFSET_WITHIN", Warning,
		"{} stands at offset {}, within another object",
		"{} è alla posizione {}, dentro un altro oggetto")
	SlipOffset = row("PDF_OFFSET_WRONG", Warning,
		"{} is not at offset {}, where its table says",
		"{} non è alla posizione {}, dove dice la tabella")
	SlipRowGen = row("PDF_GENERATION_OF_ROW", Warning,
		"{} has generation {} where it stands",
		"{} ha la generazione {} dove si trova")
	SlipEarlier = row("PDF_OFFSET_EARLIER", Warning,
		"{} stands at offset {}, in an earlier revision whose tables do not name it",
		"{} è alla posizione {}, in una revisione precedente le cui tabelle non lo nominano")
	SlipMidNumber = row("PDF_OFFSET_IN_NUMBER", Warning,
		"{} begins in the middle of a number",
		"{} comincia a metà di un numero")
	SlipOverlap = row("PDF_OBJECT_OVERLAPS", Warning,
		"{} overlaps what stands behind it",
		"{} si sovrappone a ciò che segue")
	SlipGap = row("PDF_BYTES_BETWEEN", Warning,
		"{} holds bytes that belong to no object",
		"{} ha byte che non appartengono ad alcun oggetto")
	SlipUnlisted = row("PDF_OBJECT_UNLISTED", Warning,
		"{} holds an object, trailer or header that no table names",
		"{} ha un oggetto, un trailer o un'intestazione che nessuna tabella nomina")
	SlipLongComment = row("PDF_COMMENT_LONG", Warning,
		"{} holds a comment of more than {} bytes",
		"{} ha un commento di oltre {} byte")
	SlipMarker = row("PDF_STARTXREF_NUMBER", Warning,
		"{} has startxref without a number",
		"{} ha startxref senza numero")
	SlipGeneration = row("PDF_GENERATION_WRONG", Warning,
		"{} refers to {}, but the object has generation {}",
		"{} rimanda a {}, ma l'oggetto ha la generazione {}")
	SlipTaken = row("PDF_TARGET_TAKEN_AWAY", Warning,
		"{} refers to object {}, which revision {} takes away",
		"{} rimanda all'oggetto {}, che la revisione {} toglie")
	SlipFilled = row("PDF_TARGET_FILLED", Warning,
		"{} refers to object {}, which only revision {} defines",
		"{} rimanda all'oggetto {}, che solo la revisione {} definisce")
	SlipEndobj = row("PDF_ENDOBJ_MISSING", Warning,
		"{} is not closed by endobj",
		"{} non è chiuso da endobj")
	SlipStreamLine = row("PDF_STREAM_LINE", Warning,
		"{} has a stream that does not begin on a new line",
		"{} ha uno stream che non comincia su una nuova riga")
	SlipLength = row("PDF_LENGTH_WRONG", Warning,
		"{} has a stream whose Length is wrong",
		"{} ha uno stream con Length sbagliata")
	SlipNoLength = row("PDF_LENGTH_MISSING", Warning,
		"{} has a stream without a valid Length",
		"{} ha uno stream senza una Length valida")
	SlipLengthAnew = row("PDF_LENGTH_CHANGED", Warning,
		"{} has a stream whose Length a later revision changes",
		"{} ha uno stream di cui una revisione successiva cambia la Length")
	SlipEnds = row("PDF_OBJECT_CUT", Warning,
		"{} ends within an object",
		"{} finisce dentro un oggetto")
	SlipDelimiter = row("PDF_DELIMITER_MISPLACED", Warning,
		"{} has a delimiter out of place",
		"{} ha un delimitatore fuori posto")
	SlipReference = row("PDF_OBJECT_IS_REFERENCE", Warning,
		"{} is nothing but a reference to another object",
		"{} non è che un riferimento a un altro oggetto")
	SlipHex = row("PDF_HEX_STRING", Warning,
		"{} has a hexadecimal string with other characters",
		"{} ha una stringa esadecimale con altri caratteri")
	SlipWord = row("PDF_WORD_UNKNOWN", Warning,
		"{} has a word that readers take differently",
		"{} ha una parola che i lettori intendono diversamente")
	SlipNumber = row("PDF_NUMBER_TOO_LARGE", Warning,
		"{} has a whole number of more than 32 bits, of which some readers take a part",
		"{} ha un numero intero di oltre 32 bit, di cui alcuni lettori prendono una parte")
	SlipBounds = row("PDF_REFERENCE_OUT_OF_BOUNDS", Warning,
		"{} has a reference out of bounds",
		"{} ha un riferimento fuori dai limiti")
	SlipDeep = row("PDF_NESTING_TOO_DEEP", Warning,
		"{} nests too deep",
		"{} è annidato troppo in profondità")
	SlipBracket = row("PDF_DICTIONARY_BRACKET", Warning,
		"{} has a dictionary that ends with one bracket",
		"{} ha un dizionario chiuso da una sola parentesi")
	SlipKey = row("PDF_KEY_NO_NAME", Warning,
		"{} has a dictionary key that is no name",
		"{} ha una chiave di dizionario che non è un nome")
	SlipNoValue = row("PDF_KEY_WITHOUT_VALUE", Warning,
		"{} has the key /{} without a value",
		"{} ha la chiave /{} senza valore")
	SlipKeyTwice = row("PDF_KEY_TWICE", Warning,
		"{} has the key /{} twice in one dictionary",
		"{} ha due volte la chiave /{} in un dizionario")
	SlipKeyMany = row("PDF_KEY_TWICE_AMONG_MANY", Warning,
		"{} has the key /{} twice in a dictionary of many",
		"{} ha due volte la chiave /{} in un dizionario di molte chiavi")
	SlipCoding = row("PDF_STREAM_ENCODING", Warning,
		"{} is a stream that readers decode in different ways: {}",
		"{} è uno stream che i lettori decodificano in modi diversi: {}")
	SlipPackNoData = row("PDF_OBJECT_STREAM_EMPTY", Warning,
		"{} is an object stream without data",
		"{} è uno stream di oggetti senza dati")
	SlipPackUnread = row("PDF_OBJECT_STREAM_UNREADABLE", Warning,
		"{} is an object stream that cannot be read: {}",
		"{} è uno stream di oggetti che non si può leggere: {}")
	SlipPackCoding = row("PDF_OBJECT_STREAM_ENCODING", Warning,
		"{} is an object stream that readers decode in different ways: {}",
		"{} è uno stream di oggetti che i lettori decodificano in modi diversi: {}")
	SlipPackTwice = row("PDF_OBJECT_STREAM_TWICE", Warning,
		"{} is an object stream that holds a number twice",
		"{} è uno stream di oggetti con due volte lo stesso numero")
	SlipPackMore = row("PDF_OBJECT_STREAM_INDEX", Warning,
		"{} is an object stream whose index names fewer objects than it holds",
		"{} è uno stream di oggetti il cui indice ne nomina meno di quanti ne contiene")
	SlipPackExtra = row("PDF_OBJECT_STREAM_UNLISTED", Warning,
		"{} is an object stream that holds object {}, which no table of its revision names",
		"{} è uno stream di oggetti che contiene l'oggetto {}, non nominato dalle tabelle della sua revisione")
	SlipPackElse = row("PDF_OBJECT_STREAM_COPY", Warning,
		"{} is an object stream that holds object {}, which the tables say is elsewhere",
		"{} è uno stream di oggetti che contiene l'oggetto {}, che secondo le tabelle è altrove")
	SlipPackOrder = row("PDF_OBJECT_STREAM_ORDER", Warning,
		"{} is an object stream whose objects are not in order",
		"{} è uno stream di oggetti non in ordine")
	SlipPackTail = row("PDF_OBJECT_STREAM_BYTES", Warning,
		"{} is followed by bytes that belong to no object",
		"{} è seguito da byte che non appartengono ad alcun oggetto")
	SlipPackMissing = row("PDF_OBJECT_STREAM_MISSING", Warning,
		"{} is in object stream {}, which is not in the file",
		"{} è nello stream di oggetti {}, che non è nel file")
	SlipPackNot = row("PDF_OBJECT_STREAM_WITHOUT", Warning,
		"{} is not in object stream {} where its table says",
		"{} non è nello stream di oggetti {} dove dice la tabella")
	SlipPackAnew = row("PDF_OBJECT_STREAM_REPLACED", Warning,
		"{} is in object stream {}, which a later revision replaces",
		"{} è nello stream di oggetti {}, che una revisione successiva sostituisce")
)
