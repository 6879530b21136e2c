// Package gitconfig reads and changes the text of a repository's git configuration, and knows which settings can't make git
// run or read anything: what a program that is not trusted may set for git outside of its sandbox.
//
// It is stricter than git: what git reads in a way that is not obvious is refused, so that both always read the same. It does
// no I/O, follows no include, and knows one file.
package gitconfig
