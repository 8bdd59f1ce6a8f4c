/** Heads beyond both limits that arrive in several chunks: Node's parser shows only the last one. */
import { once } from 'node:events'
import { connect } from 'node:net'
import t, { type Test } from 'tap'
import { eventually } from '../../support/eventually.ts'
import { serve, statuses } from './raw.ts'

/** Sends each chunk after the server has read those before. Returns the statuses of the responses. */
async function send(t: Test, chunks: readonly string[]): Promise<number[]> {
  const { port, listener } = await serve(t)
  const opened = once(listener.servers[0] ?? t, 'connection')
  const client = connect(port, '127.0.0.1')
  t.teardown(() => client.destroy())
  let text = ''
  client.on('data', (bytes) => {
    text += bytes.toString('latin1')
  })
  const ended = once(client, 'end')
  const [socket] = await opened
  let sent = 0
  for (const chunk of chunks) {
    client.write(chunk)
    sent += chunk.length
    await eventually(() => socket.bytesRead === sent)
  }
  await ended
  return statuses(text)
}

const line = (url: string) => `GET /${url} HTTP/1.1\r\nHost: edge\r\n`
const long = 'a'.repeat(15_000)
const rows: Readonly<Record<string, readonly [chunks: readonly string[], status: number]>> = {
  'a URL that ends in the second chunk': [[`GET /${long}`, `${long} HTTP/1.1\r\nHost: edge\r\n\r\n`], 414],
  'a URL that does not end': [[`GET /${long}`, long], 414],
  'a header that ends in the second chunk': [[`${line('x')}A: ${long}`, `${long}\r\nB: c\r\n\r\n`], 431],
  'a header with spaces': [[`${line('x')}Cookie: ${'a=b; '.repeat(3000)}`, 'a=b; '.repeat(3000)], 431],
  'many headers': [[line('x') + `A: ${'b'.repeat(100)}\r\n`.repeat(150), `A: ${'b'.repeat(100)}\r\n`.repeat(150)], 431],
  'headers behind the URL of the same chunk': [[`${line('x')}A: ${long}${long}\r\n\r\n`], 431],
}
for (const [name, [chunks, status]] of Object.entries(rows)) {
  t.test(`${name}: ${status}`, async (t) => t.strictSame(await send(t, chunks), [status]))
}
