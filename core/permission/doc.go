// Package permission decides whether a call may run, must be asked about or may not run: by rules that people wrote, and
// where none matches, by the mode of the client session.
//
// A rule names a tool or what a tool does (read, write, shell, fetch, mcp), and in brackets what it is about:
// write(src/**), shell(git diff *), fetch(*.example.com), mcp(github/*), deploy(stage=test*). Deny counts over ask, ask
// over allow, from wherever the rules come. What forbids is read widely (paths in any case and below what is named,
// commands within commands, where a link leads), what allows narrowly.
//
// Promises: pure but for Real, which follows links and only reads; bounded in rules, patterns and time. A call has one
// verdict with one sentence that says what decided.
//
// Layer 2: it imports core, and core/shellline, which takes shell lines apart.
package permission
