package paper

// countries are the territories of the European lists, English and Italian. The lists use EL for
// Greece and UK for the United Kingdom, other sources GR and GB.
var countries = map[string][2]string{
	"AT": {"Austria", "Austria"}, "BE": {"Belgium", "Belgio"}, "BG": {"Bulgaria", "Bulgaria"}, "CY": {"Cyprus", "Cipro"},
	"CZ": {"Czechia", "Cechia"}, "DE": {"Germany", "Germania"}, "DK": {"Denmark", "Danimarca"}, "EE": {"Estonia", "Estonia"},
	"EL": {"Greece", "Grecia"}, "GR": {"Greece", "Grecia"}, "ES": {"Spain", "Spagna"}, "EU": {"the European Union", "Unione europea"},
	"FI": {"Finland", "Finlandia"}, "FR": {"France", "Francia"}, "HR": {"Croatia", "Croazia"}, "HU": {"Hungary", "Ungheria"},
	"IE": {"Ireland", "Irlanda"}, "IS": {"Iceland", "Islanda"}, "IT": {"Italy", "Italia"}, "LI": {"Liechtenstein", "Liechtenstein"},
	"LT": {"Lithuania", "Lituania"}, "LU": {"Luxembourg", "Lussemburgo"}, "LV": {"Latvia", "Lettonia"}, "MT": {"Malta", "Malta"},
	"NL": {"the Netherlands", "Paesi Bassi"}, "NO": {"Norway", "Norvegia"}, "PL": {"Poland", "Polonia"}, "PT": {"Portugal", "Portogallo"},
	"RO": {"Romania", "Romania"}, "SE": {"Sweden", "Svezia"}, "SI": {"Slovenia", "Slovenia"}, "SK": {"Slovakia", "Slovacchia"},
	"UK": {"the United Kingdom", "Regno Unito"}, "GB": {"the United Kingdom", "Regno Unito"},
}

// country is the name of a territory, or its code if it is unknown.
func (l Lang) country(code string) string {
	names, ok := countries[code]
	switch {
	case !ok:
		return code
	case l == Italian:
		return names[1]
	}
	return names[0]
}
