package finding

// Remarks at signing: what was asked for and came otherwise. They follow "signed, but".
var (
	StampMoved = row("STAMP_MOVED", Info,
		"the visible signature was moved onto the page, to {}: page {} is {} by {} points",
		"la firma visibile è stata spostata dentro la pagina, in {}: la pagina {} misura {} per {} punti")
	StampTextCut = row("STAMP_TEXT_CUT", Info,
		"not all of the text fits the visible signature; a box larger than {} by {} points helps",
		"non tutto il testo sta nella firma visibile; serve un riquadro più grande di {} per {} punti")
	StampTextSmall = row("STAMP_TEXT_SMALL", Info,
		"the text of the visible signature is hard to read: its smallest letters are {} points high; a box larger than {} by {} points helps",
		"il testo della firma visibile si legge male: le lettere più piccole sono alte {} punti; serve un riquadro più grande di {} per {} punti")
	LockNoField = row("LOCK_NO_FIELD", Info,
		"there is no field {quoted} to lock",
		"non c'è un campo {quoted} da bloccare")
)
