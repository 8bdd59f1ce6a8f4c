/** Recordings 721 to 732 of release 5.0: over 300 requests a minute, and with a limit of five failed logins. */
import { readFileSync } from 'node:fs'
import t from 'tap'
import { basic, startV4 } from './ask.ts'

interface Recording {
  readonly user: string | null
  readonly note: string
  readonly request: {
    readonly method: string
    readonly path: string
    readonly contentType?: string
    readonly body?: string
  }
  readonly response: { readonly status: number; readonly body: string }
}

const text = readFileSync(new URL('../../../../test/contract/exchanges/release-5.jsonl', import.meta.url), 'utf8')
const recordings = text
  .trim()
  .split('\n')
  .map((line) => JSON.parse(line) as Recording)
const [FIRST, LAST] = [721, 732]

t.test('the limits are as recorded', async (t) => {
  const limits = { requestsPerMinute: 300, maxFailedLogins: 5 }
  const { sim, ask, logIn } = await startV4(t, { version: '5.0.0', v4: limits })
  const token = `Bearer ${await logIn()}`
  for (let sent = 1; sent <= 300; sent += 1) await ask('GET /agents?limit=1', { authorization: token })
  for (const [at, { user, note, request, response }] of recordings.slice(FIRST - 1, LAST).entries()) {
    const name = `recording ${FIRST + at}: ${note}`
    const isOver = note.startsWith('over')
    if (!isOver && sim.v4.refusedRequests('master-node') > 0 && at === 3) sim.v4.restartApi('master-node')
    const password = note.startsWith('wrong') ? 'wrong' : 'simulated'
    const isLogin = user === 'basic' || note.startsWith('wrong')
    const { method, path, contentType, body } = request
    const reply = await ask(`${method} ${path}`, {
      authorization: isLogin ? basic('edge', password) : token,
      ...(contentType !== undefined && { type: contentType }),
      ...(body !== undefined && { body }),
    })
    t.equal(reply.status, response.status, name)
    if (response.status !== 200) t.strictSame(reply.json, JSON.parse(response.body), name)
  }
})
