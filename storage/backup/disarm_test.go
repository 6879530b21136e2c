package backup

import (
	"testing"

	"loci/core"
	"loci/storage"
)

// TestABackupPutsNoFilesBack: whoever made a backup chose which files its changes name, anywhere on the machine, and an
// unfinished rewind would act on them at the next start.
func TestABackupPutsNoFilesBack(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := foreign(t,
		`INSERT INTO rewinds (id, agent_id, conversation_id, step_id, undoes, rev, after_step, created_at, unfinished, data)
			SELECT 'rewind-1', id, id, 'step', '', 0, 0, 1, 1, '{"what":["files"]}' FROM agents`,
		`INSERT INTO file_changes (agent_id, conversation_id, run_id, step_id, call_id, rewind_id, workspace, path, before_hash,
			after_hash, mode, folders, at, before_kind, after_kind, after_mode)
			SELECT id, id, '', '', '', 'rewind-1', '/home/ann', '.profile', 'known', '', 420, 0, 1, 'file', '', 0 FROM agents`,
	)
	if _, err := restore(t, dir, file); err != nil {
		t.Fatal(err)
	}
	s := open(t, storage.Config{Dir: dir})
	if left, err := s.Rewinds().Unfinished(t.Context()); err != nil || len(left) > 0 {
		t.Errorf("unfinished: %+v, %v", left, err)
	}
	if changes, err := s.Workspaces().Changes(t.Context(), core.FileChanges{}); err != nil || len(changes) > 0 {
		t.Errorf("changes of files: %+v, %v", changes, err)
	}
}
