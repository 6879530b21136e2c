// A daemon in a home of its own, for the tests beside this file. LOCI names the binary.
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

// started returns a daemon that listens: its address, the environment of its home, the program in it, and what ends both.
export async function started(more = {}) {
  const home = await mkdtemp(join(tmpdir(), 'loci-mcp-'));
  const env = { PATH: process.env.PATH, HOME: home, LOCI_HOME: home, ...more };
  const daemon = spawn(process.env.LOCI, ['daemon', 'run', '--listen', '127.0.0.1:0'], { env, stdio: ['ignore', 'ignore', 'pipe'] });
  let told = '';
  const address = await new Promise((found, failed) => {
    daemon.stderr.on('data', (part) => {
      told += part;
      const at = /listening on (http:\S+\d)/.exec(told);
      if (at) found(at[1]);
    });
    daemon.on('exit', () => failed(new Error(`the daemon has ended: ${told}`)));
  });
  return {
    address,
    env,
    loci: (...args) => execFileSync(process.env.LOCI, args, { env, encoding: 'utf8' }),
    async end() {
      daemon.kill();
      if (daemon.exitCode === null) await once(daemon, 'exit');
      await rm(home, { recursive: true, force: true });
    },
  };
}
