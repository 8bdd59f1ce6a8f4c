import t from 'tap'
import { RememberedRequests } from '../../../src/listener/remembered-requests.ts'

const responder = { respond: () => true }
const request = (number: number) => Buffer.from(`GET /agents/${String(number).padStart(4000, '0')} HTTP/1.1\r\n\r\n`)
/** About 20 kB are counted for each of these requests, so this is more than 8 MiB. */
const TOO_MANY = 500

t.test('the requests that were not used for longest are forgotten', async (t) => {
  const remembered = new RememberedRequests()
  remembered.remember(request(0), responder)
  const first = remembered.find(request(0))
  remembered.remember(request(1), responder)
  const unused = remembered.find(request(1))
  for (let number = 2; number < TOO_MANY; number++) {
    remembered.remember(request(number), responder)
    remembered.find(request(0))
  }
  t.equal(remembered.find(request(0)), first, 'a request that is used is not forgotten')
  t.equal(remembered.find(request(1)), undefined)
  t.strictSame(
    unused,
    { bytes: Buffer.alloc(0), responder: undefined },
    'a connection holds nothing of a forgotten one',
  )
  t.equal(remembered.find(request(TOO_MANY - 1))?.responder, responder)
})

t.test('after a clear, nothing is remembered', async (t) => {
  const remembered = new RememberedRequests()
  remembered.remember(request(0), responder)
  const found = remembered.find(request(0))
  remembered.clear()
  t.equal(remembered.find(request(0)), undefined)
  t.equal(found?.responder, undefined)
})
