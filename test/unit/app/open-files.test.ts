import { spawn } from 'node:child_process'
import { connect, type Socket } from 'node:net'
import { createInterface } from 'node:readline'
import t from 'tap'
import { watchOpenFiles } from '../../../src/app/open-files.ts'
import { eventually } from '../../support/eventually.ts'

t.test('the log has one line a minute, and the problem ends a minute after the last failure', async (t) => {
  let now = 0
  let code: string | undefined
  const lines: object[] = []
  let checks = 0
  const files = await watchOpenFiles({
    log: { warn: (fields) => void lines.push(fields) },
    tryOpen: async () => {
      checks += 1
      if (code !== undefined) throw Object.assign(new Error(code), { code })
    },
    interval: 1,
    clock: () => now,
  })
  t.teardown(() => files.stop())
  const after = async (ms: number, next: string | undefined) => {
    now += ms
    code = next
    const before = checks
    await eventually(() => checks > before + 2)
    return { lines: lines.length, isExhausted: files.exhausted() !== undefined }
  }
  t.same(await after(0, undefined), { lines: 0, isExhausted: false })
  t.same(await after(1000, 'EACCES'), { lines: 0, isExhausted: false }, 'another error')
  t.same(await after(1000, 'EMFILE'), { lines: 1, isExhausted: true })
  t.same(await after(59_000, 'ENFILE'), { lines: 1, isExhausted: true })
  t.same(await after(2000, 'EMFILE'), { lines: 2, isExhausted: true })
  t.same(await after(59_000, undefined), { lines: 2, isExhausted: true })
  t.same(await after(2000, undefined), { lines: 2, isExhausted: false })
  t.match(lines, [{ limit: /^(\d+|unlimited|unknown)$/, code: 'EMFILE' }, {}])
})

t.test('a process whose connections are refused names its limit', { skip: process.platform !== 'linux' }, async (t) => {
  const program = `
    import { createServer } from 'node:net'
    import { watchOpenFiles } from '${import.meta.resolve('../../../src/app/open-files.ts')}'
    const log = { warn: (fields) => console.log(JSON.stringify(fields)) }
    await watchOpenFiles({ log, interval: 20 })
    const server = createServer(() => undefined).listen(0, '127.0.0.1', () => console.log(server.address().port))`
  const register = import.meta.resolve('../../support/typescript/register.mjs')
  const node = [process.execPath, '--import', register, '--input-type=module', '-e', program]
  const child = spawn('sh', ['-c', 'ulimit -n 64; exec "$@"', 'sh', ...node], { stdio: ['ignore', 'pipe', 'inherit'] })
  t.teardown(() => child.kill())
  const lines: string[] = []
  createInterface(child.stdout).on('line', (line) => lines.push(line))
  await eventually(() => lines.length > 0)
  const sockets: Socket[] = []
  const connectMore = (count: number) => {
    for (let at = 0; at < count; at += 1)
      sockets.push(connect(Number(lines[0]), '127.0.0.1').on('error', () => undefined))
  }
  t.teardown(() => sockets.forEach((socket) => void socket.destroy()))
  connectMore(100)
  // A check that had a file open while connections were refused leaves room for one more.
  await eventually(() => {
    connectMore(2)
    return lines.length > 1
  })
  t.same(JSON.parse(lines[1] ?? ''), { limit: '64', code: 'EMFILE' })
})
