import { execFile } from 'node:child_process'
import t from 'tap'

const source = (path: string) => JSON.stringify(new URL(`../../../src/${path}`, import.meta.url).href)

const program = `
  const { pino } = await import('pino')
  const { createAudit } = await import(${source('audit/index.ts')})
  const { createAuditLog } = await import(${source('audit/sink.ts')})
  const { catalogue } = await import(${source('contracts/index.ts')})
  const { createProcessLog } = await import(${source('server/logs.ts')})
  const destination = createProcessLog('json')
  const sink = createAuditLog('r', pino({}, destination), () => destination.flushSync())
  const { stage } = createAudit({ sink, onFailure: 'refuse', log: console })
  const endpoint = catalogue.find(({ method, path }) => method === 'DELETE' && path === '/agents/:agent_id')
  const parts = { params: { agent_id: '001' }, query: {}, body: { kind: 'none' }, caller: { name: 'alice' } }
  const request = { kind: 'write', endpoint, ...parts, requestId: 'killed' }
  await stage(() => process.kill(process.pid, 'SIGKILL'))(request)`

t.test('without an audit file, a process that is killed when it forwards a write has logged the intent', async (t) => {
  const loader = ['--import', new URL('../../support/typescript/register.mjs', import.meta.url).href]
  const { signal, stdout } = await new Promise<{ signal?: unknown; stdout: string }>((resolve) => {
    execFile(process.execPath, [...loader, '--input-type=module', '--eval', program], (error, stdout) =>
      resolve({ signal: error?.signal, stdout }),
    )
  })
  t.equal(signal, 'SIGKILL')
  const { msg, line } = JSON.parse(stdout) as { msg: string; line: string }
  t.equal(msg, 'audit')
  t.match(JSON.parse(line), { kind: 'intent', request: 'killed', caller: 'alice', params: { agent_id: '001' } })
})
