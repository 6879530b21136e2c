package sandbox

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"loci/core"
)

// watchEvery is how often the memory of a job is measured.
const watchEvery = 25 * time.Millisecond

// usage is what the processes of a job use.
type usage struct {
	memory  int64
	threads int
}

// watch stops a job that uses more memory than it may, or has more processes. It looks from outside: nothing inside can hide.
func (c *call) watch(ctx context.Context, pid int, disks []disk) {
	tick := time.NewTicker(watchEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		var u usage
		for _, child := range children(pid) {
			u.add(child)
		}
		switch {
		case slices.ContainsFunc(disks, disk.full):
			c.stop(stopped(core.JobOverDisk))
		case u.threads > c.job.Limits.Processes:
			c.stop(stopped(core.JobOverProcesses))
		case u.memory > c.job.Limits.Memory && proportional(pid, u.memory) > c.job.Limits.Memory:
			c.stop(stopped(core.JobOverMemory))
		}
	}
}

// leastFree is what a job leaves free of a disk that it may write to, if as much was free before.
const leastFree = 64 << 20

// disk is a folder of the machine that a job may write to.
type disk struct {
	path  string
	least int64 // bytes that stay free
}

// disks are the folders that the job could fill: of those in memory, the size is limited.
func (p *plan) disks() []disk {
	paths := []string{}
	if p.spec.Scratch != "" {
		paths = append(paths, p.spec.Scratch)
	}
	for _, b := range p.spec.Binds {
		if b.Writable {
			paths = append(paths, b.Source)
		}
	}
	var out []disk
	for _, path := range paths {
		if free, err := freeOn(path); err == nil {
			out = append(out, disk{path, min(leastFree, free/2)})
		}
	}
	return out
}

func (d disk) full() bool {
	free, err := freeOn(d.path)
	return err == nil && free < d.least
}

func freeOn(path string) (int64, error) {
	var st unix.Statfs_t
	err := unix.Statfs(path, &st)
	return int64(st.Bavail) * st.Bsize, err
}

// add counts a process and all it started. One that has just ended counts nothing.
func (u *usage) add(pid int) {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return
	}
	for line := range strings.Lines(string(status)) {
		name, value, _ := strings.Cut(line, ":")
		number, _ := strconv.ParseInt(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(value), "kB")), 10, 64) // 0: no number
		switch name {
		case "RssAnon", "RssShmem", "VmPTE", "VmSwap":
			u.memory += number << 10
		case "Threads":
			u.threads += int(number)
		}
	}
	for _, child := range children(pid) {
		u.add(child)
	}
}

// children lists the processes that a process has started and not waited for.
func children(pid int) []int {
	tasks, err := os.ReadDir(fmt.Sprintf("/proc/%d/task", pid))
	if err != nil {
		return nil // it has ended
	}
	var out []int
	for _, task := range tasks {
		list, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%s/children", pid, task.Name()))
		if err != nil {
			continue // likewise
		}
		for _, field := range strings.Fields(string(list)) {
			if child, err := strconv.Atoi(field); err == nil {
				out = append(out, child)
			}
		}
	}
	return out
}

// proportional measures a job's memory with what processes share counted once. It costs more than the sum, and what can't
// be read counts as in the sum.
func proportional(pid int, sum int64) int64 {
	var total int64
	queue := children(pid)
	for len(queue) > 0 {
		pid, queue = queue[0], append(queue[1:], children(queue[0])...)
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/smaps_rollup", pid))
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ESRCH) {
			continue // it has ended
		}
		if err != nil {
			return sum
		}
		for line := range strings.Lines(string(text)) {
			name, value, _ := strings.Cut(line, ":")
			if name != "Pss_Anon" && name != "Pss_Shmem" && name != "SwapPss" {
				continue
			}
			number, err := strconv.ParseInt(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(value), "kB")), 10, 64)
			if err != nil {
				return sum
			}
			total += number << 10
		}
	}
	return total
}
