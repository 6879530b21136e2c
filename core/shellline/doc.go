// Package shellline takes a shell line apart, so that every simple command in it can be judged before the line runs.
//
// Promises: pure, bounded in time and depth, and no panic whatever the text. What is not understood for certain is a
// doubt, never a guess: a word that is only known when it runs, a variable that is set, anything that changes what later
// words mean. Reads is said only of commands from a closed list, called with options from a closed list: they read files,
// print, and do nothing else.
//
// The line must run in the dialect that it was parsed in (Dialect), with a cleared environment, without start-up files
// and without a terminal, and with GIT_OPTIONAL_LOCKS=0. Words say nothing about links: which files can be reached is for the sandbox.
//
// Layer 1: it imports the parser only.
package shellline
