// A language model for the walk: it calls the tool that a message names (CALL tool {json}) and says what came back.
//   node .ci/model.mjs        prints its address and serves OpenAI's chat wire until it is ended
import { createServer } from 'node:http'

const answer = (messages) => {
  const last = messages.at(-1)
  if (last.role === 'tool') return { content: last.content }
  const text = [last.content].flat().map((part) => part.text ?? part).join('\n')
  const [, name, args] = /^CALL (\w+) (\{.*\})$/m.exec(text) ?? []
  if (!name) return { content: 'Nothing to do.' }
  return { tool_calls: [{ index: 0, id: `call_${messages.length}`, type: 'function', function: { name, arguments: args } }] }
}

const server = createServer(async (req, res) => {
  let body = ''
  for await (const part of req) body += part
  if (!req.url.endsWith('/chat/completions')) {
    res.end(JSON.stringify({ object: 'list', data: [{ id: 'tool-caller', object: 'model' }] }))
    return
  }
  const delta = answer(JSON.parse(body).messages)
  const chunk = (choice) => `data: ${JSON.stringify({ id: 'c', object: 'chat.completion.chunk', created: 0, model: 'tool-caller', choices: [{ index: 0, ...choice }] })}\n\n`
  res.writeHead(200, { 'Content-Type': 'text/event-stream' })
  res.write(chunk({ delta: { role: 'assistant', ...delta }, finish_reason: null }))
  res.write(chunk({ delta: {}, finish_reason: delta.tool_calls ? 'tool_calls' : 'stop' }))
  res.end('data: [DONE]\n\n')
})
server.listen(0, '127.0.0.1', () => console.log(`http://127.0.0.1:${server.address().port}/v1`))
