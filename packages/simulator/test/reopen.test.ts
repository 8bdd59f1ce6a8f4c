/** A node that was down returns on its port, although another process had the port for a moment. */
import { once } from 'node:events'
import { connect, createServer } from 'node:net'
import t from 'tap'
import { listen } from '../src/listener.ts'

t.test('a listener opens again as soon as its port is free', async (t) => {
  const listener = await listen((_, response) => response.end('here'))
  t.teardown(() => listener.shut())
  await listener.shut()
  const other = createServer((socket) => socket.destroy())
  const port = Number(new URL(listener.url).port)
  await new Promise<void>((resolve) => other.listen(port, '127.0.0.1', resolve))
  const opened = listener.open()
  await once(connect(port, '127.0.0.1'), 'close')
  await new Promise((resolve) => other.close(resolve))
  await opened
  t.equal(await (await fetch(listener.url)).text(), 'here')
})
