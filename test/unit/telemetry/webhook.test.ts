/** Notices to the webhook over real sockets: order, attempts, time-outs, certificates, and what is counted and logged. */
import { readFile } from 'node:fs/promises'
import http, { type RequestListener } from 'node:http'
import https from 'node:https'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { createWebhook, type WebhookTarget } from '../../../src/telemetry/webhook.ts'
import { eventually } from '../../support/eventually.ts'

const SHORT = { attempt: 200, delays: [10, 10] }

interface Received {
  readonly body: { readonly event: string }
  readonly secret: unknown
}

async function start(t: Test, answer: RequestListener, target: Partial<WebhookTarget> = {}) {
  const received: Received[] = []
  let open = 0
  let maxOpen = 0
  const server = http.createServer(async (request, response) => {
    open += 1
    maxOpen = Math.max(maxOpen, open)
    response.once('close', () => {
      open -= 1
    })
    let text = ''
    for await (const chunk of request) text += chunk
    received.push({ body: JSON.parse(text), secret: request.headers['x-secret'] })
    answer(request, response)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook?room=1`
  const logged: [string, object][] = []
  const log = {
    info: (fields: object, message: string) => void logged.push([message, fields]),
    warn: (fields: object, message: string) => void logged.push([message, fields]),
  }
  const parseHeaders = (text: string) => ({ 'x-secret': text.trim() })
  const webhook = createWebhook({ target: () => ({ url, ...target }), parseHeaders, log, times: SHORT })
  t.teardown(async () => {
    await webhook.close()
    server.closeAllConnections()
    server.close()
  })
  const settled = (count: number) =>
    eventually(async () => webhook.counts().sent + webhook.counts().failed === count, 10_000)
  return { webhook, received, logged, settled, maxOpen: () => maxOpen }
}

t.test('notices arrive in order, one at a time, with the headers of the file', async (t) => {
  const headersFile = join(t.testdir({ secret: '4711\n' }), 'secret')
  const { webhook, received, settled, maxOpen } = await start(
    t,
    (_, response) => void setTimeout(() => response.writeHead(204).end(), 20),
    { headersFile },
  )
  for (const event of ['begin', 'end', 'begin']) t.ok(webhook.send({ event }))
  await settled(3)
  t.strictSame(
    received,
    ['begin', 'end', 'begin'].map((event) => ({ body: { event }, secret: '4711' })),
  )
  t.equal(maxOpen(), 1)
  t.strictSame(webhook.counts(), { sent: 3, failed: 0 })
})

t.test('a receiver that fails for a moment gets the notice again, one that refuses it does not', async (t) => {
  const statuses = [503, 429, 200, 404, 302, 500, 500, 500]
  const { webhook, received, settled, logged } = await start(t, (_, response) => {
    response.writeHead(statuses.shift() ?? 500, { location: 'http://127.0.0.1:1/' }).end('secret text')
  })
  for (const event of ['1', '2', '3', '4']) webhook.send({ event })
  await settled(4)
  t.strictSame(received.map(({ body }) => body.event).join(''), '11123444')
  t.strictSame(webhook.counts(), { sent: 1, failed: 3 })
  t.strictSame(logged, [
    ['webhook notified', { event: '1' }],
    ['webhook not notified', { event: '2', reason: 'status 404' }],
    ['webhook not notified', { event: '3', reason: 'status 302' }],
    ['webhook not notified', { event: '4', reason: 'status 500' }],
  ])
})

t.test('a receiver that does not answer costs a limited time, and an end of the process does not wait', async (t) => {
  const { webhook, received, settled, logged } = await start(t, () => undefined)
  webhook.send({ event: 'begin' })
  await settled(1)
  t.equal(received.length, 3)
  t.match(logged, [['webhook not notified', { reason: 'timed out' }]])
  webhook.send({ event: 'end' })
  await eventually(async () => received.length === 4)
  const closing = performance.now()
  await webhook.close()
  t.ok(performance.now() - closing < SHORT.attempt)
})

t.test('without a URL nothing is sent, and more notices than the queue holds are given up', async (t) => {
  const none = await start(t, () => undefined, { url: undefined })
  t.notOk(none.webhook.send({ event: 'begin' }))
  const many = await start(t, (_, response) => void response.end())
  for (let count = 0; count < 30; count += 1) t.ok(many.webhook.send({ event: 'begin' }))
  await many.settled(30)
  t.strictSame(many.webhook.counts(), { sent: 20, failed: 10 })
})

t.test('a certificate that no CA of Node.js has signed is refused', async (t) => {
  const file = (name: string) => readFile(new URL(`../../support/certificates/${name}`, import.meta.url))
  const [key, cert] = await Promise.all([file('first.key'), file('first.crt')])
  const server = https.createServer({ key, cert }, () => t.fail('a request was sent'))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => server.close())
  const url = `https://127.0.0.1:${(server.address() as AddressInfo).port}/`
  const { webhook, settled, logged } = await start(t, () => undefined, { url })
  webhook.send({ event: 'begin' })
  await settled(1)
  t.match(logged, [['webhook not notified', { reason: /SELF_SIGNED|UNABLE_TO|ERR_TLS/ }]])
})
