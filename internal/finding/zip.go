package finding

// Of ZIP and what is made of it: ASiC, OpenDocument.
var (
	ZIPEntryUnreadable = row("ZIP_ENTRY_UNREADABLE", Error,
		"an entry cannot be read{detail}",
		"un elemento non può essere letto{detail}")
	ZIPFolderWithContent = row("ZIP_FOLDER_WITH_CONTENT", Error,
		"a folder with content",
		"una cartella con un contenuto")
	ZIPSameName = row("ZIP_SAME_NAME", Error,
		"{quoted} is the same file as {quoted} on some systems",
		"{quoted} è lo stesso file di {quoted} su alcuni sistemi")
	ZIPNameLeadsOut = row("ZIP_NAME_LEADS_OUT", Error,
		"name leads out of the container",
		"il nome conduce fuori dal contenitore")
	ZIPNameTwice = row("ZIP_NAME_TWICE", Warning,
		"two entries are named {quoted}",
		"due elementi si chiamano {quoted}")
	ZIPNameTwiceDifferent = row("ZIP_NAME_TWICE_DIFFERENT", Error,
		"two entries are named {quoted}, with different content",
		"due elementi si chiamano {quoted}, con contenuto diverso")
	ZIPDataAfter = row("ZIP_DATA_AFTER", Error,
		"data after the end of the archive",
		"dati dopo la fine dell'archivio")
	ZIPVolumes = row("ZIP_VOLUMES", Error,
		"the archive claims to be one of several volumes",
		"l'archivio si dichiara uno di più volumi")
	ZIPEndRecordsDiffer = row("ZIP_END_RECORDS_DIFFER", Error,
		"the two end records contradict each other",
		"i due record finali si contraddicono")
	ZIPDataBefore = row("ZIP_DATA_BEFORE", Error,
		"the directory is not where the end record says: there is other data before the archive",
		"l'indice non è dove dice il record finale: ci sono altri dati prima dell'archivio")
	ZIP64EndMissing = row("ZIP64_END_MISPLACED", Error,
		"the ZIP64 end record is not where its locator says",
		"il record finale ZIP64 non è dove dice il suo localizzatore")
	ZIP64EndDiffers = row("ZIP64_END_DIFFERS", Error,
		"the ZIP64 end record contradicts its locator",
		"il record finale ZIP64 contraddice il suo localizzatore")
	ZIPCommentForeign = row("ZIP_COMMENT_FOREIGN", Error,
		"the comment of the archive holds another archive or document",
		"il commento dell'archivio contiene un altro archivio o documento")
	ZIPComment = row("ZIP_COMMENT", Error,
		"the comment of the archive has {} bytes",
		"il commento dell'archivio ha {} byte")
	ZIPEntryComment = row("ZIP_ENTRY_COMMENT", Error,
		"the comment of an entry holds an end record",
		"il commento di un elemento contiene un record finale")
	ZIPDirectoryTooLong = row("ZIP_DIRECTORY_TOO_LONG", Error,
		"the directory has more bytes than its entries",
		"l'indice ha più byte dei suoi elementi")
	ZIPEntryMissing = row("ZIP_ENTRY_MISSING", Error,
		"there is no entry where the directory says",
		"non c'è alcun elemento dove dice l'indice")
	ZIPEntryPastEnd = row("ZIP_ENTRY_PAST_END", Error,
		"the entry runs past the end",
		"l'elemento supera la fine")
	ZIPNamesDiffer = row("ZIP_NAMES_DIFFER", Error,
		"name differs between directory and entry",
		"il nome differisce tra indice ed elemento")
	ZIPMethodsDiffer = row("ZIP_METHODS_DIFFER", Error,
		"compression method differs between directory and entry",
		"il metodo di compressione differisce tra indice ed elemento")
	ZIPFlagsDiffer = row("ZIP_FLAGS_DIFFER", Error,
		"flags differ between directory and entry",
		"gli indicatori differiscono tra indice ed elemento")
	ZIPEncrypted = row("ZIP_ENTRY_ENCRYPTED", Error,
		"the entry is encrypted",
		"l'elemento è cifrato")
	ZIPSizesDiffer = row("ZIP_SIZES_DIFFER", Error,
		"size or checksum differs between directory and entry",
		"dimensione o somma di controllo differiscono tra indice ed elemento")
	ZIPDescriptorDiffers = row("ZIP_DESCRIPTOR_DIFFERS", Error,
		"the sizes after the entry are not those of the directory",
		"le dimensioni dopo l'elemento non sono quelle dell'indice")
	ZIPDescriptorInside = row("ZIP_DESCRIPTOR_INSIDE", Error,
		"stored content holds the mark of its own end",
		"il contenuto non compresso contiene il segno della propria fine")
	ZIPOverlap = row("ZIP_ENTRIES_OVERLAP", Error,
		"entries lie over each other",
		"gli elementi si sovrappongono")
	ZIPGap = row("ZIP_GAP", Error,
		"{} bytes before this entry belong to none",
		"{} byte prima di questo elemento non appartengono ad alcuno")
	ZIPPadding = row("ZIP_PADDING", Warning,
		"{} bytes of padding before this entry",
		"{} byte di riempimento prima di questo elemento")
	ZIPExtraMalformed = row("ZIP_EXTRA_MALFORMED", Error,
		"the extra field of the entry is malformed",
		"il campo aggiuntivo dell'elemento è malformato")
	ZIPExtraTwice = row("ZIP_EXTRA_TWICE", Error,
		"an extra field of the entry occurs twice",
		"un campo aggiuntivo dell'elemento compare due volte")
	ZIPExtraName = row("ZIP_EXTRA_NAME", Error,
		"the entry has another name in its extra field",
		"l'elemento ha un altro nome nel campo aggiuntivo")
	ZIPOtherVolume = row("ZIP_ENTRY_OTHER_VOLUME", Error,
		"the entry claims to lie on another volume",
		"l'elemento dice di trovarsi su un altro volume")
	ZIPLabel = row("ZIP_ENTRY_LABEL", Error,
		"the entry is the label of a volume, not a file",
		"l'elemento è l'etichetta di un volume, non un file")
	ZIPFolderOrFile = row("ZIP_FOLDER_OR_FILE", Error,
		"the entry is a folder by its attributes and a file by its name",
		"l'elemento è una cartella per gli attributi e un file per il nome")
	ZIPLink = row("ZIP_ENTRY_LINK", Error,
		"the entry is a link or a device, not a file",
		"l'elemento è un collegamento o un dispositivo, non un file")

	ASiCSeveralFiles = row("ASIC_S_SEVERAL_FILES", Error,
		"an ASiC-S container holds one file, this one {}",
		"un contenitore ASiC-S contiene un solo file, questo {}")
	ASiCMimetype = row("ASIC_MIMETYPE", Warning,
		"the file mimetype is not first, or not stored without compression",
		"il file mimetype non è il primo, o è compresso")
	ASiCOwnContent = row("ASIC_SIGNATURE_OWN_CONTENT", Error,
		"the signature carries content of its own and covers no file of the container",
		"la firma porta un contenuto proprio e non copre alcun file del contenitore")
	ASiCManifestTwice = row("ASIC_MANIFEST_TWICE", Error,
		"more than one manifest claims the signature",
		"più di un manifesto rivendica la firma")
	ASiCStampManifestTwice = row("ASIC_TIMESTAMP_MANIFEST_TWICE", Error,
		"more than one manifest claims the time-stamp",
		"più di un manifesto rivendica la marca temporale")
	ASiCManifestSignsNothing = row("ASIC_MANIFEST_NO_SIGNATURE", Error,
		"the manifest names no signature of the container",
		"il manifesto non nomina alcuna firma del contenitore")
	ASiCManifestUnreadable = row("ASIC_MANIFEST_UNREADABLE", Warning,
		"a manifest cannot be read{detail}",
		"un manifesto non può essere letto{detail}")
	ASiCCoversNothing = row("ASIC_COVERS_NO_FILE", Error,
		"the signature covers no file of the container",
		"la firma non copre alcun file del contenitore")
	ODFCoversNot = row("ODF_FILE_NOT_COVERED", Error,
		"the signature of the document does not cover {quoted}",
		"la firma del documento non copre {quoted}")
	OOXMLTypes = row("OOXML_CONTENT_TYPES", Error,
		"the list of content types cannot be read{detail}",
		"l'elenco dei tipi di contenuto non può essere letto{detail}")
	OOXMLRelationships = row("OOXML_RELATIONSHIPS", Error,
		"the relationships of a part cannot be read{detail}",
		"le relazioni di una parte non possono essere lette{detail}")
	OOXMLPieces = row("OOXML_PIECES", Error,
		"a part is stored in pieces, which readers put together differently",
		"una parte è memorizzata in pezzi, che i lettori ricompongono in modi diversi")
	OOXMLTypeDiffers = row("OOXML_TYPE_DIFFERS", Error,
		"{quoted} is of another type than the signature says",
		"{quoted} è di un tipo diverso da quello indicato dalla firma")
	OOXMLNotCovered = row("OOXML_NOT_COVERED", Warning,
		"a part or relationship that a reader opens is not covered by any signature",
		"una parte o relazione che un lettore apre non è coperta da alcuna firma")
	ASiCFileNotCovered = row("ASIC_FILE_NOT_COVERED", Warning,
		"file is not covered by any signature",
		"il file non è coperto da alcuna firma")
	ASiCFileNotStamped = row("ASIC_FILE_NOT_TIMESTAMPED", Warning,
		"no time-stamp covers the file {}",
		"nessuna marca temporale copre il file {}")
	ASiCMediaType = row("ASIC_MEDIA_TYPE", Warning,
		"the manifest says another media type than the signature",
		"il manifesto indica un tipo di contenuto diverso da quello della firma")
	ASiCStampedFile = row("ASIC_TIMESTAMPED_FILE_CHANGED", Warning,
		"file under the time-stamp is missing or changed",
		"il file sotto la marca temporale manca o è stato modificato")
)

// Of names in a container, and of what its records are for.
var (
	ZIPNameEmpty = row("ZIP_NAME_EMPTY", Error,
		"an entry without a name",
		"un elemento senza nome")
	ZIPNameTooLong = row("ZIP_NAME_TOO_LONG", Error,
		"the name is too long",
		"il nome è troppo lungo")
	ZIPNameControl = row("ZIP_NAME_CONTROL", Error,
		"the name holds control characters",
		"il nome contiene caratteri di controllo")
	ZIPNameBidi = row("ZIP_NAME_BIDI", Error,
		"the name holds marks that turn the direction of writing",
		"il nome contiene segni che cambiano la direzione di scrittura")
	ZIPNameAbsolute = row("ZIP_NAME_ABSOLUTE", Error,
		"the name starts at the root or with a drive",
		"il nome comincia dalla radice o da un'unità")
	ASiCNoSignature = row("ASIC_NO_SIGNATURE", Error,
		"no signature in a signature file",
		"nessuna firma in un file di firma")
	ASiCRecordManifestTwice = row("ASIC_RECORD_MANIFEST_TWICE", Warning,
		"more than one manifest claims the evidence record",
		"più di un manifesto rivendica l'evidence record")
	ASiCRecordManifestMissing = row("ASIC_RECORD_MANIFEST_MISSING", Warning,
		"no manifest says what the evidence record is for",
		"nessun manifesto dice per che cosa sia l'evidence record")
)
