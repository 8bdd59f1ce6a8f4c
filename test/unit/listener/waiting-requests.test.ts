/** A request that starts in a later turn of the event loop. */
import { IncomingMessage, ServerResponse } from 'node:http'
import { Socket } from 'node:net'
import { setImmediate as nextTurn } from 'node:timers/promises'
import t from 'tap'
import { Connection } from '../../../src/listener/connection.ts'
import { startLater } from '../../../src/listener/request-starts.ts'

t.test('the checks of timeouts find a request whose body is being received before its start', async (t) => {
  const socket = new Socket()
  t.teardown(() => socket.destroy())
  const request = new IncomingMessage(socket)
  const connection = new Connection(socket, { handle: () => {}, maxPipelined: () => 1, onDrop: () => {} })
  startLater(() => {})
  connection.accept(request, new ServerResponse(request))
  t.equal(connection.current, undefined)
  t.equal(connection.incomplete, request)
  await nextTurn()
  t.equal(connection.current?.request, request)
  t.equal(connection.incomplete, request)
})
