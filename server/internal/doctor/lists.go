package doctor

import (
	"context"
	"strings"
	"time"

	"rogito.dev/rogito/server/internal/sentence"
)

// examineLists tells whether European signatures can be judged.
func (s *Installation) examineLists(ctx context.Context) Finding {
	lists := s.Lists
	_ = lists.Load(ctx) // what is wrong shows in the state
	fetching := s.FetchesLists
	if !lists.Loaded() {
		if !fetching {
			return warn(do("rogito trust import PATH brings them, or switch fetching on (trust.lists, network.offline)"), "none are loaded and fetching is switched off: no European signature can be recognised")
		}
		return warn(do("rogito trust update, or on a machine without network rogito trust import PATH"), "none are loaded yet: no European signature can be recognised")
	}
	var stale, missing []string
	state := lists.State()
	for _, l := range state {
		switch {
		case !l.Verified:
			missing = append(missing, l.Territory)
		case !l.Usable:
			stale = append(stale, l.Territory)
		}
	}
	if len(stale)+len(missing) == 0 {
		return fine("%d lists, the list of lists is number %d of %s", len(state), state[0].Sequence, state[0].Issued.Format(time.DateOnly))
	}
	advice := do("rogito trust update")
	if !fetching {
		advice = do("bring newer ones: rogito trust export on a machine with network, rogito trust import here")
	}
	var parts []sentence.Sentence
	if len(missing) > 0 {
		parts = append(parts, sentence.New("missing or not to be believed: %s", strings.Join(missing, ", ")))
	}
	if len(stale) > 0 {
		parts = append(parts, sentence.New("past their next update: %s", strings.Join(stale, ", ")))
	}
	return warn(advice, "of %d lists, %s", len(state), parts)
}
