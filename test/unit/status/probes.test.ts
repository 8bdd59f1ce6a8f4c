import t from 'tap'
import { createOperationsListener } from '../../../src/admin/listener.ts'

t.test('probes report whether the process is alive and ready', async (t) => {
  let reasons: string[] = []
  const counts = { stale: 3, queued: 2, failed: 1 }
  const since = '2026-01-01T00:00:00.000Z'
  const degraded = [{ reason: 'noNode', detail: '2 of 2 nodes cannot be reached', since, ...counts }] as const
  const errors: string[] = []
  const ready = () => {
    if (reasons[0] === 'throw') throw new Error('planned')
    return { ok: reasons.length === 0, reasons }
  }
  const log = { error: (_fields: object, message: string) => void errors.push(message) }
  const app = await createOperationsListener({ ready, degradations: () => degraded, log })
  t.teardown(() => app.close())
  const url = await app.listen({ port: 0, host: '127.0.0.1' })
  const get = async (path: string, method = 'GET') => {
    const response = await fetch(url + path, { method })
    const text = await response.text()
    return { status: response.status, body: text && JSON.parse(text), cache: response.headers.get('cache-control') }
  }

  t.strictSame(await get('/livez'), { status: 200, body: { status: 'alive' }, cache: 'no-store' })
  t.strictSame(await get('/readyz'), { status: 200, body: { status: 'ready' }, cache: 'no-store' })

  t.strictSame((await get('/readyz?verbose')).body, { status: 'ready', degraded })

  reasons = ['draining', 'the manager refuses the credentials']
  t.strictSame(await get('/readyz'), { status: 503, body: { status: 'not ready', reasons }, cache: 'no-store' })
  t.strictSame((await get('/readyz?verbose')).body, { status: 'not ready', reasons, degraded })
  t.equal((await get('/readyz', 'HEAD')).status, 503, 'HEAD has the same status')
  t.equal((await get('/livez')).status, 200, 'an edge that is not ready is alive')

  t.match(await get('/agents'), { status: 404, body: { error: 603 } }, 'routes of the public listener are not served')
  t.match(await get('/livez', 'POST'), { status: 404, body: { error: 603 } })

  reasons = ['throw']
  const failed = await get('/readyz')
  t.match(failed, { status: 500, body: { error: 949 } })
  t.notMatch(JSON.stringify(failed.body), 'planned', 'internal messages are not sent')
  t.strictSame(errors, ['request to the operations listener failed'])
})
