package shellline

import (
	"regexp"
	"slices"
	"strings"
	"sync"
)

// reads reports whether a command only reads, within the workspace. Loose says that names of files stand where options
// could.
func (w *walk) reads(words []string, loose bool) bool {
	name := words[0]
	if rest, system := strings.CutPrefix(name, "/usr/bin/"); system {
		name = rest
	} else if rest, system := strings.CutPrefix(name, "/bin/"); system {
		name = rest
	}
	if len(words) == 2 && words[1] == "--version" && versions()[name] {
		return true
	}
	p, known := reading()[name]
	if !known || loose && !p.any || !w.near(p, words[1:]) {
		return false
	}
	if name == "git" && (w.moved || w.at.Dir != w.at.Root) {
		return false // a repository further down may have been made for this
	}
	if p.check != nil && !p.check(words[1:]) {
		return false
	}
	return p.any || p.check != nil && p.short == "" || p.obeys(words[1:])
}

// near reports whether no word names a file outside of the workspace.
func (w *walk) near(p program, words []string) bool {
	if p.texts {
		return true
	}
	skip := p.first && !slices.ContainsFunc(words, givesExpression)
	for _, word := range words {
		option := strings.HasPrefix(word, "-")
		if skip && !option {
			skip = false
			continue
		}
		if file := fileOf(word); hidesFile(word) || file != "" && w.outside(file) {
			return false
		}
	}
	return true
}

// givesExpression reports whether an option may bring the expression, so that the first operand is a file already.
func givesExpression(word string) bool {
	if strings.HasPrefix(word, "--") {
		return strings.HasPrefix(word, "--r") || strings.HasPrefix(word, "--f")
	}
	return strings.HasPrefix(word, "-") && strings.ContainsAny(word, "ef")
}

// obeys reports whether every option is in the program's lists.
func (p program) obeys(words []string) bool {
	operands := 0
	for i, word := range words {
		switch {
		case word == "--":
			operands += len(words) - i - 1
			return p.fits(operands)
		case strings.HasPrefix(word, "--"):
			name, _, _ := strings.Cut(word, "=")
			if !slices.Contains(strings.Fields(p.long), name) {
				return false
			}
		case len(word) > 1 && word[0] == '-':
			if !p.bundle(word[1:]) {
				return false
			}
		default:
			operands++
		}
	}
	return p.fits(operands)
}

func (p program) fits(operands int) bool { return p.most == 0 || operands <= max(0, p.most) }

// bundle reports whether short options that stand together are all known.
func (p program) bundle(letters string) bool {
	for _, letter := range letters {
		if strings.ContainsRune(p.value, letter) {
			return true // the rest is its value
		}
		if !strings.ContainsRune(p.short, letter) && (letter < '0' || letter > '9') {
			return false
		}
	}
	return true
}

func checkCd(words []string) bool {
	return len(words) == 1 && words[0] != "" && words[0][0] != '-' && words[0] != ".." && !strings.HasPrefix(words[0], "../")
}

func checkCommand(words []string) bool {
	return len(words) == 2 && (words[0] == "-v" || words[0] == "-V") && !strings.HasPrefix(words[1], "-")
}

func checkDate(words []string) bool {
	return !slices.ContainsFunc(words, func(word string) bool { return word == "" || word[0] != '-' && word[0] != '+' })
}

func checkExit(words []string) bool {
	return len(words) == 0 || len(words) == 1 && strings.Trim(words[0], "0123456789") == ""
}

// assigning is a format of printf that sets a variable.
var assigning = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`%[^a-zA-Z%]*[hlLjtz]*n`) })

// checkPrintf leaves out what sets variables: -v and %n.
func checkPrintf(words []string) bool {
	return len(words) > 0 && !strings.HasPrefix(words[0], "-") && !assigning().MatchString(words[0])
}

// checkTest leaves out -v and -R, whose values are evaluated, and numbers, which some shells evaluate too.
func checkTest(words []string) bool {
	known := strings.Fields("-e -f -d -r -w -x -s -n -z -L -h = == != ! ]")
	return len(words) <= 5 && !slices.ContainsFunc(words, func(word string) bool {
		return len(word) > 1 && word[0] == '-' && !slices.Contains(known, word) || strings.ContainsAny(word, "()<>")
	})
}

// The expressions of find that only look. Those of the second list take a value, which is the next word.
var (
	findLooks = set("-H -L -P -print -print0 -ls -prune -depth -empty -true -false -not ! -a -and -o -or ( ) -mount -xdev " +
		"-daystart -executable -readable -writable -nouser -nogroup -quit -noleaf -follow")
	findTakes = set("-name -iname -path -ipath -wholename -iwholename -regex -iregex -regextype -type -xtype -maxdepth -mindepth -size " +
		"-mtime -atime -ctime -mmin -amin -cmin -newer -anewer -cnewer -perm -user -group -uid -gid -links -inum -lname -ilname " +
		"-samefile -printf")
)

func checkFind(words []string) bool {
	for i := 0; i < len(words); i++ {
		switch word := words[i]; {
		case findTakes()[word]:
			i++
		case findLooks()[word]:
		case word == "" || strings.ContainsRune("-(),!", rune(word[0])):
			return false
		}
	}
	return true
}

// checkSed lets scripts through that print or leave out lines, or substitute in what is printed.
func checkSed(words []string) bool {
	var scripts, operands []string
	for i := 0; i < len(words); i++ {
		switch word := words[i]; {
		case word == "-e" && i+1 < len(words):
			i++
			scripts = append(scripts, words[i])
		case slices.Contains([]string{"-n", "-E", "-r", "--quiet", "--silent"}, word):
		case strings.HasPrefix(word, "-"):
			return false
		default:
			operands = append(operands, word)
		}
	}
	if len(scripts) == 0 && len(operands) > 0 {
		scripts = operands[:1]
	}
	return len(scripts) > 0 && !slices.ContainsFunc(scripts, func(script string) bool { return !tameScript(script) })
}

// tameScript reports whether a script of sed is one of the few forms that only print.
func tameScript(script string) bool {
	if strings.ContainsAny(script, "\n\\") {
		return false
	}
	if rest, ok := strings.CutPrefix(script, "s"); ok && rest != "" && strings.IndexByte("/|#,:", rest[0]) >= 0 {
		parts := strings.Split(rest[1:], rest[:1])
		return len(parts) == 3 && strings.Trim(parts[2], "gpI0123456789") == ""
	}
	if rest, ok := strings.CutPrefix(script, "/"); ok {
		return strings.Count(rest, "/") == 1 && (strings.HasSuffix(rest, "/p") || strings.HasSuffix(rest, "/d"))
	}
	for command := range strings.SplitSeq(script, ";") {
		address := strings.TrimRight(command, "pd")
		if len(command)-len(address) != 1 || strings.Trim(address, "0123456789,$") != "" {
			return false
		}
	}
	return true
}
