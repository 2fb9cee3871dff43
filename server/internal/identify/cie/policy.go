package cie

import (
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
)

// operators of a metadata policy in the order in which they are applied
// (OpenID Federation 1.0, section 6.1.3.1).
var operators = []string{"value", "add", "default", "one_of", "subset_of", "superset_of", "essential"}

// maxValues limits lists: they are compared value by value.
const maxValues = 256

// mergePolicies joins the policies that superiors set for one entity type, the
// anchor's first (section 6.1.4.1). A subordinate may narrow what is above
// it, and what contradicts it is an error.
func mergePolicies(policies []map[string]object) (map[string]object, error) {
	merged := map[string]object{}
	for _, policy := range policies {
		for name, rules := range policy {
			into := merged[name]
			if into == nil {
				into = object{}
				merged[name] = into
			}
			for operator, value := range rules {
				if !slices.Contains(operators, operator) {
					continue // not critical: parseStatement refuses those
				}
				if l, ok := value.([]any); ok && len(l) > maxValues {
					return nil, fmt.Errorf("policy of %s: %s has too many values", name, operator)
				}
				above, there := into[operator]
				if !there {
					into[operator] = value
					continue
				}
				joined, err := mergeOperator(operator, above, value)
				if err != nil {
					return nil, fmt.Errorf("policy of %s: %w", name, err)
				}
				into[operator] = joined
			}
		}
	}
	for name, rules := range merged {
		if err := checkRules(rules); err != nil {
			return nil, fmt.Errorf("policy of %s: %w", name, err)
		}
	}
	return merged, nil
}

func mergeOperator(operator string, above, below any) (any, error) {
	switch operator {
	case "value", "default":
		if !reflect.DeepEqual(above, below) {
			return nil, fmt.Errorf("two superiors set %s differently", operator)
		}
		return above, nil
	case "essential":
		return above == true || below == true, nil
	}
	a, okA := above.([]any)
	b, okB := below.([]any)
	if !okA || !okB {
		return nil, fmt.Errorf("%s is no list", operator)
	}
	if operator == "add" || operator == "superset_of" {
		return union(a, b), nil
	}
	both := intersection(a, b)
	if operator == "one_of" && len(both) == 0 {
		return nil, errors.New("two superiors leave no value that is one_of both")
	}
	return both, nil
}

// checkRules refuses operators that contradict each other (section 6.1.3.1).
func checkRules(rules object) error {
	lists := map[string][]any{}
	for _, operator := range []string{"add", "one_of", "subset_of", "superset_of"} {
		if v, there := rules[operator]; there {
			l, ok := v.([]any)
			if !ok {
				return fmt.Errorf("%s is no list", operator)
			}
			lists[operator] = l
		}
	}
	if e, there := rules["essential"]; there {
		if _, ok := e.(bool); !ok {
			return errors.New("essential is no boolean")
		}
	}
	if d, there := rules["default"]; there && d == nil {
		return errors.New("default is null")
	}
	has := func(operator string) bool { _, there := lists[operator]; return there }
	if has("one_of") && (has("add") || has("subset_of") || has("superset_of")) {
		return errors.New("one_of stands beside another list")
	}
	if has("subset_of") && (!contains(lists["subset_of"], lists["add"]) || !contains(lists["subset_of"], lists["superset_of"])) {
		return errors.New("subset_of excludes what add or superset_of demand")
	}
	value, there := rules["value"]
	if !there {
		return nil
	}
	if value == nil && rules["essential"] == true {
		return errors.New("an essential parameter is to be removed")
	}
	set := elements(value)
	switch {
	case !contains(set, lists["add"]), has("one_of") && !member(lists["one_of"], value),
		has("subset_of") && !contains(lists["subset_of"], set), has("superset_of") && !contains(set, lists["superset_of"]):
		return errors.New("value contradicts another operator")
	}
	return nil
}

// applyPolicy returns the metadata as the policy has it, or says what violates
// it.
func applyPolicy(metadata object, policy map[string]object) (object, error) {
	out := maps.Clone(metadata)
	for name, rules := range policy {
		for _, operator := range operators {
			rule, there := rules[operator]
			if !there {
				continue
			}
			if err := applyOperator(out, name, operator, rule, rules["essential"] == true); err != nil {
				return nil, fmt.Errorf("metadata %s: %w", name, err)
			}
		}
	}
	return out, nil
}

func applyOperator(out object, name, operator string, rule any, essential bool) error {
	have, present := out[name]
	rules, _ := rule.([]any)
	if len(elements(have)) > maxValues {
		return errors.New("it has too many values")
	}
	switch operator {
	case "value":
		if rule == nil {
			delete(out, name)
		} else {
			out[name] = rule
		}
	case "add":
		out[name] = like(have, union(elements(have), rules))
	case "default":
		if !present {
			out[name] = rule
		}
	case "one_of":
		if present && !member(rules, have) {
			return errors.New("it is not one_of those that the policy allows")
		}
	case "subset_of":
		if !present {
			return nil
		}
		left := intersection(elements(have), rules)
		if len(left) > 0 {
			out[name] = like(have, left)
			return nil
		}
		if essential {
			return errors.New("nothing of it is within subset_of")
		}
		delete(out, name)
	case "superset_of":
		if present && !contains(elements(have), rules) {
			return errors.New("it lacks what superset_of demands")
		}
	case "essential":
		if rule == true && !present {
			return errors.New("it is essential, and missing")
		}
	}
	return nil
}

// elements of a list; a string is the list of its words, as scope is one.
func elements(v any) []any {
	switch t := v.(type) {
	case []any:
		return t
	case string:
		var out []any
		for _, w := range strings.Fields(t) {
			out = append(out, w)
		}
		return out
	case nil:
		return nil
	}
	return []any{v}
}

// like gives a list the form that the parameter had.
func like(have any, values []any) any {
	if _, ok := have.(string); !ok {
		return values
	}
	var words []string
	for _, v := range values {
		words = append(words, fmt.Sprint(v))
	}
	return strings.Join(words, " ")
}

func member(set []any, v any) bool {
	return slices.ContainsFunc(set, func(s any) bool { return reflect.DeepEqual(s, v) })
}

func contains(set, all []any) bool {
	return !slices.ContainsFunc(all, func(v any) bool { return !member(set, v) })
}

func union(a, b []any) []any {
	out := slices.Clone(a)
	for _, v := range b {
		if !member(out, v) {
			out = append(out, v)
		}
	}
	return out
}

func intersection(a, b []any) []any {
	return slices.DeleteFunc(slices.Clone(a), func(v any) bool { return !member(b, v) })
}
