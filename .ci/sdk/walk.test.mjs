// The official SDK, unmodified, against a daemon without a key: what its users do first, and the shapes they rely on.
// LOCI names the binary. The daemon gets a home and a port of its own and is stopped at the end.
import { after, before, test } from 'node:test';
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { Letta } from '@letta-ai/letta-client';

const model = 'offline/loci';
const absent = 'agent-123e4567-e89b-42d3-8456-426614174000';
let home, daemon, client, agent;
const ended = () => daemon.exitCode !== null || daemon.signalCode !== null;

async function until(what, done) {
  const end = Date.now() + 120_000;
  for (;;) {
    try {
      const value = await what();
      if (done(value)) return value;
    } catch (error) {
      if (Date.now() > end) throw error;
    }
    if (Date.now() > end) throw new Error('waited for two minutes');
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

async function all(list) {
  const items = [];
  for await (const item of list) items.push(item);
  return items;
}

// listen starts the daemon in its home and connects the SDK to it.
async function listen() {
  const { PATH } = process.env;
  daemon = spawn(process.env.LOCI, ['daemon', 'run', '--listen', '127.0.0.1:0'], {
    env: { PATH, HOME: home, LOCI_HOME: home },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  let said = '';
  daemon.stderr.on('data', (part) => (said += part));
  const address = () => {
    if (ended()) throw new Error(`the daemon has ended: ${said}`);
    return /listening on (http:\S+\d)/.exec(said)?.[1];
  };
  client = new Letta({ baseURL: await until(address, Boolean), apiKey: 'any' });
  await until(() => client.health(), (health) => health.status === 'ok');
}

async function restart(signal) {
  daemon.kill(signal);
  await once(daemon, 'exit');
  await listen();
}

before(async () => {
  home = await mkdtemp(join(tmpdir(), 'loci-sdk-'));
  await listen();
  agent = await client.agents.create({
    name: 'sdk',
    model,
    memory_blocks: [
      { label: 'human', value: 'Nothing yet.' },
      { label: 'persona', value: 'A quiet scribe.' },
    ],
    tags: ['one', 'two'],
    tools: ['archival_memory_insert', 'archival_memory_search'],
  });
});

after(async () => {
  daemon?.kill('SIGTERM');
  if (daemon && !ended()) await once(daemon, 'exit');
  if (home) await rm(home, { recursive: true, force: true });
});

test('an agent is what was asked for', () => {
  assert.match(agent.id, /^agent-[0-9a-f-]{36}$/);
  assert.deepEqual(agent.blocks.map((b) => b.label).sort(), ['human', 'persona']);
  assert.deepEqual([...agent.tags].sort(), ['one', 'two']);
  assert.equal(agent.agent_type, 'letta_v1_agent');
  const tools = agent.tools.map((t) => t.name);
  assert.ok(tools.includes('archival_memory_insert') && tools.includes('archival_memory_search'), `the tools are ${tools}`);
});

test('a message is answered, remembered, and listed as it was streamed', async () => {
  const reply = await client.agents.messages.create(agent.id, { messages: [{ role: 'user', content: 'My name is Ada and I work on compilers.' }] });
  assert.equal(reply.stop_reason.stop_reason, 'end_turn');
  assert.ok(reply.usage.step_count >= 1);
  assert.equal(reply.messages.at(-1).message_type, 'assistant_message');

  const stream = await client.agents.messages.stream(agent.id, {
    messages: [{ role: 'user', content: 'What do you know about me?' }],
    stream_tokens: true,
  });
  const seen = new Map();
  let text = '';
  let stopped = 0;
  for await (const chunk of stream) {
    if (chunk.message_type === 'stop_reason') stopped++;
    if (chunk.message_type === 'assistant_message') {
      text += typeof chunk.content === 'string' ? chunk.content : chunk.content.map((part) => part.text).join('');
      seen.set(chunk.otid, chunk.id);
    }
  }
  assert.equal(stopped, 1);
  assert.match(text, /Ada/);
  assert.match(text, /compilers/);

  const listed = await all(client.agents.messages.list(agent.id, { limit: 3 }));
  const said = listed.filter((m) => m.message_type === 'assistant_message' && seen.has(m.otid));
  assert.equal(said.length, seen.size, 'the list has the ids and otids of the stream');
  for (const m of said) assert.equal(m.id, seen.get(m.otid));
  const ids = listed.map((m) => m.id + m.otid);
  assert.equal(new Set(ids).size, ids.length, 'pages neither repeat nor overlap');
  assert.ok(listed.some((m) => m.message_type === 'user_message'));
});

test('blocks are read and written by label', async () => {
  const before = await client.agents.blocks.retrieve('human', { agent_id: agent.id });
  assert.match(before.value, /Ada/);
  await client.agents.blocks.update('human', { agent_id: agent.id, value: 'Ada has a cat.' });
  const after = await client.agents.blocks.retrieve('human', { agent_id: agent.id });
  assert.equal(after.value, 'Ada has a cat.');
  assert.equal(after.id, before.id);
  assert.equal((await client.blocks.retrieve(before.id)).value, 'Ada has a cat.');
});

test('passages are kept and found', async () => {
  const [passage] = await client.agents.passages.create(agent.id, { text: 'The sky over Lisbon was green that evening.', tags: ['sky'] });
  assert.match(passage.id, /^passage-/);
  await client.agents.passages.create(agent.id, { text: 'Bread needs salt.' });
  const found = await client.agents.passages.search(agent.id, { query: 'Lisbon sky' });
  assert.equal(found.results[0].id, passage.id);
  await client.agents.passages.delete(passage.id, { agent_id: agent.id });
  const left = await client.agents.passages.search(agent.id, { query: 'Lisbon sky' });
  assert.ok(left.results.every((r) => r.id !== passage.id));
});

test('a conversation is a thread of its own', async () => {
  const conversation = await client.conversations.create({ agent_id: agent.id });
  let type;
  for await (const chunk of await client.conversations.messages.create(conversation.id, { messages: [{ role: 'user', content: 'Hello there' }] })) {
    if (chunk.message_type === 'assistant_message') type = chunk.message_type;
  }
  assert.equal(type, 'assistant_message');
  const mine = await all(client.conversations.messages.list(conversation.id));
  assert.ok(mine.some((m) => m.message_type === 'user_message' && m.content === 'Hello there'));
  const main = await all(client.agents.messages.list(agent.id, { conversation_id: 'default' }));
  assert.ok(main.every((m) => m.content !== 'Hello there'));
});

test('a background run ends, with its steps', async () => {
  const run = await client.agents.messages.createAsync(agent.id, { messages: [{ role: 'user', content: 'Good evening' }] });
  const ended = await until(() => client.runs.retrieve(run.id), (r) => !['created', 'running'].includes(r.status));
  assert.equal(ended.status, 'completed');
  const steps = await all(client.runs.steps.list(run.id));
  assert.ok(steps.length >= 1);
  assert.ok((await all(client.runs.messages.list(run.id))).some((m) => m.message_type === 'assistant_message'));
});

const asked = (reply) => {
  assert.equal(reply.stop_reason.stop_reason, 'requires_approval');
  assert.equal(reply.messages.at(-1).message_type, 'approval_request_message');
  return reply.messages.at(-1).tool_calls;
};
const answer = (id, approvals) => client.agents.messages.create(id, { messages: [{ type: 'approval', approvals }] });

test('a call that needs a person waits through a restart, is approved, and another is denied with a reason', async () => {
  const careful = await client.agents.create({ name: 'careful', model, memory_blocks: [{ label: 'human', value: '' }] });
  await client.agents.tools.updateApproval('memory_insert', { agent_id: careful.id, body_requires_approval: true });
  const [first] = asked(await client.agents.messages.create(careful.id, { messages: [{ role: 'user', content: 'My name is Ada' }] }));
  assert.equal(first.name, 'memory_insert');
  await restart('SIGKILL');
  const pending = await client.agents.retrieve(careful.id, { include: ['agent.pending_approval'] });
  assert.equal(pending.pending_approval.tool_calls[0].tool_call_id, first.tool_call_id);
  await assert.rejects(client.agents.messages.create(careful.id, { messages: [{ role: 'user', content: 'Hello?' }] }), { status: 409 });
  await assert.rejects(answer(careful.id, [{ type: 'approval', tool_call_id: 'call_x', approve: true }]), { status: 400 });
  const kept = await answer(careful.id, [{ type: 'approval', tool_call_id: first.tool_call_id, approve: true }]);
  assert.equal(kept.messages[0].message_type, 'tool_return_message');
  assert.equal(kept.messages[0].status, 'success');
  assert.match((await client.agents.blocks.retrieve('human', { agent_id: careful.id })).value, /Ada/);

  const [second] = asked(await client.agents.messages.create(careful.id, { messages: [{ role: 'user', content: 'I work on compilers' }] }));
  const denied = await answer(careful.id, [{ type: 'approval', tool_call_id: second.tool_call_id, approve: false, reason: 'not that' }]);
  assert.match(denied.messages[0].tool_return, /request to call tool denied. User reason: not that/);
  assert.equal(denied.stop_reason.stop_reason, 'end_turn');
  const listed = (await all(client.agents.messages.list(careful.id, { order: 'asc' }))).map((m) => m.message_type);
  assert.equal(listed.filter((type) => type === 'approval_request_message').length, 2);
  assert.equal(listed.filter((type) => type === 'approval_response_message').length, 2);
});

test('a tool of the program stops the run, and goes on with what it returned', async () => {
  const plain = await client.agents.create({ name: 'plain', model, include_base_tools: false, memory_blocks: [{ label: 'human', value: '' }] });
  const client_tools = [{ name: 'memory_insert', description: 'Keeps a line.', parameters: {
    type: 'object',
    properties: { label: { type: 'string' }, new_string: { type: 'string' }, insert_line: { type: 'integer' } },
    required: ['label', 'new_string'],
  } }];
  const [call] = asked(await client.agents.messages.create(plain.id, { messages: [{ role: 'user', content: 'My name is Ada' }], client_tools }));
  assert.equal(call.name, 'memory_insert');
  await restart('SIGTERM');
  const back = { type: 'tool', tool_call_id: call.tool_call_id, tool_return: 'kept by the program', status: 'success' };
  const reply = await client.agents.messages.create(plain.id, { messages: [{ type: 'approval', approvals: [back] }], client_tools });
  assert.equal(reply.messages[0].tool_return, 'kept by the program');
  assert.equal(reply.stop_reason.stop_reason, 'end_turn');
});

const rollDice = `
def roll_dice(sides: int = 6) -> str:
    """Roll a die and return the result.

    Args:
        sides (int): How many sides the die has.

    Returns:
        str: What it shows.
    """
    import random
    return f"You rolled a {random.randint(1, sides)}"
`;

test('a tool that a person wrote is kept, replaced, called by an agent, and gone', async (t) => {
  if (spawnSync('python3', ['--version']).error) return t.skip('tools in Python need one');
  const tool = await client.tools.create({ source_code: rollDice });
  assert.equal(tool.name, 'roll_dice');
  assert.equal(tool.tool_type, 'custom');
  assert.deepEqual(tool.json_schema.parameters.properties, { sides: { type: 'integer', description: 'How many sides the die has.' } });
  const again = await client.tools.upsert({ source_code: rollDice.replace('Roll a die', 'Throw a die'), tags: ['games'] });
  assert.equal(again.id, tool.id);
  assert.match(again.description, /^Throw a die/);
  assert.equal((await client.tools.retrieve(tool.id)).tags[0], 'games');
  assert.deepEqual((await all(client.tools.list({ tool_types: ['custom'] }))).map((one) => one.name), ['roll_dice']);

  const player = await client.agents.create({ name: 'player', model, tools: ['roll_dice'], secrets: { TOKEN: 'hunter2-and-a-half' } });
  assert.ok((await all(client.agents.tools.list(player.id))).some((one) => one.name === 'roll_dice'));
  const rolled = await client.agents.tools.run('roll_dice', { agent_id: player.id, args: { sides: 1 } });
  assert.equal(rolled.status, 'success');
  assert.equal(rolled.func_return, 'You rolled a 1');
  await client.agents.tools.detach(tool.id, { agent_id: player.id });
  await assert.rejects(client.agents.tools.run('roll_dice', { agent_id: player.id, args: {} }), { status: 404 });
  await client.agents.tools.attach(tool.id, { agent_id: player.id });

  const peek = await client.tools.create({ source_code: `
def peek(agent_state, text: str):
    """Look at a secret, and note a text.

    Args:
        text: What to note.
    """
    import os
    agent_state.memory.update_block_value(label="human", value=text)
    return os.environ["TOKEN"]
` });
  await client.agents.blocks.attach((await client.blocks.create({ label: 'human', value: '' })).id, { agent_id: player.id }).catch(() => {});
  await client.agents.tools.attach(peek.id, { agent_id: player.id });
  const peeked = await client.agents.tools.run('peek', { agent_id: player.id, args: { text: 'likes dice' } });
  assert.match(peeked.func_return, /^\[secret TOKEN\]/);
  assert.equal((await client.agents.blocks.retrieve('human', { agent_id: player.id })).value, 'likes dice');

  const ran = await client.post('/v1/tools/run', {
    body: { source_code: rollDice, args: { sides: 1 }, env_vars: { A: 'b' } },
  });
  assert.equal(ran.message_type, 'tool_return_message');
  assert.equal(ran.tool_return, 'You rolled a 1');
  const shout = await client.tools.create({
    source_type: 'typescript',
    source_code: 'export async function shout(text: string): Promise<string> { return text.toUpperCase() }',
    json_schema: {
      name: 'shout',
      description: 'Shout a text.',
      parameters: { type: 'object', properties: { text: { type: 'string' } }, required: ['text'] },
    },
  });
  await client.agents.tools.attach(shout.id, { agent_id: player.id });
  assert.equal((await client.agents.tools.run('shout', { agent_id: player.id, args: { text: 'hey' } })).func_return, 'HEY');
  await client.tools.delete(shout.id);
  await client.tools.update(tool.id, { default_requires_approval: true, return_char_limit: 100 });
  assert.equal((await client.tools.retrieve(tool.id)).return_char_limit, 100);
  await client.tools.delete(tool.id);
  await assert.rejects(client.tools.retrieve(tool.id), { status: 404 });
  await assert.rejects(client.tools.create({ source_code: 'def f(x): pass' }), { status: 400 });
  await assert.rejects(client.tools.create({ source_code: 'x', source_type: 'typescript' }), { status: 422 });
});

test('what is wrong is said with the status that the SDK expects', async () => {
  await assert.rejects(client.agents.retrieve(absent), { status: 404 });
  await assert.rejects(client.agents.retrieve('bogus'), { status: 422 });
  await assert.rejects(client.agents.create({ name: 'x', model: 'nothing' }), { status: 400 });
});

test('an agent is changed, and gone once deleted', async () => {
  const other = await client.agents.create({ name: 'other', model, tags: ['old'] });
  await client.agents.update(other.id, { name: 'renamed', tags: ['new'] });
  const changed = await client.agents.retrieve(other.id, { include: ['agent.tags'] });
  assert.equal(changed.name, 'renamed');
  assert.deepEqual(changed.tags, ['new']);
  await client.agents.delete(other.id);
  await assert.rejects(client.agents.retrieve(other.id), { status: 404 });
  assert.ok((await client.models.list()).some((m) => m.handle === model));
});

test('docs/api.md works as typed, top to bottom', async (t) => {
  if (spawnSync('curl', ['--version']).error) return t.skip("the page's commands need curl");
  const page = await readFile(process.env.LOCI_API_PAGE, 'utf8');
  const free = createServer().listen(0, '127.0.0.1');
  await once(free, 'listening');
  const address = `127.0.0.1:${free.address().port}`;
  free.close();
  const own = await mkdtemp(join(tmpdir(), 'loci-page-'));
  const file = join(import.meta.dirname, 'example.mjs');
  const env = { HOME: own, LOCI_HOME: own, PATH: `${dirname(process.env.LOCI)}:${process.env.PATH}` };
  t.after(async () => {
    spawnSync(process.env.LOCI, ['daemon', 'stop'], { env });
    await rm(own, { recursive: true, force: true });
  });
  let script = '';
  for (const [, language, code] of page.matchAll(/^```(sh|js)\n(.*?)^```$/gms)) {
    const typed = code.replaceAll('127.0.0.1:8283', address);
    if (language === 'js') await writeFile(file, typed);
    script += language === 'js' ? `node '${file}' >js.out\n` : typed;
  }
  const { status, stderr } = spawnSync('sh', ['-eu'], { input: script, env, cwd: own, encoding: 'utf8' });
  assert.equal(status, 0, stderr);
  assert.match(await readFile(join(own, 'js.out'), 'utf8'), /Ada/);
});
