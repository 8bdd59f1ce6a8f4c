/** Both clients are written by the command, compiled, packed, and run against an edge with both contracts. */
import { execFile } from 'node:child_process'
import { cpSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import t from 'tap'
import { startEdge } from '../../../test/support/edge.ts'
import { installed } from '../../../test/support/installed.ts'
import { startSimulator } from '../../simulator/src/index.ts'

const run = promisify(execFile)
const programs = fileURLToPath(new URL('programs', import.meta.url))
const simulator = await startSimulator({
  agents: 9,
  workers: 1,
  username: 'edge',
  password: 'only-for-tests',
  layout: 'v4',
})
t.teardown(() => simulator.close())
const edge = await startEdge({
  nodes: simulator.nodes,
  settings: { cluster: { layout: 'v4' }, listen: { secondPort: 0 }, cache: { ttl: { agents: '60s' } } },
})
t.teardown(() => edge.close())
const args = [edge.url, edge.secondUrl ?? '', 'admin-pw']
const folder = t.testdir({ program: { 'package.json': '{"type":"module"}' } })
await run(process.execPath, [
  '--import=./test/support/typescript/register.mjs',
  'packages/clients/src/write.ts',
  folder,
])
const python = installed({ variable: 'PYTHON', names: ['python3'], package: 'python3' })
const ids = Array.from({ length: 10 }, (_, at) => String(at).padStart(3, '0'))

t.test('the TypeScript package is complete when it is packed, and a program with it compiles and works', async (t) => {
  const { stdout } = await run('npm', ['pack', '--json', '--pack-destination', folder, join(folder, 'typescript')])
  const [{ filename, files }] = JSON.parse(stdout)
  t.same(files.map(({ path }: { path: string }) => path).sort(), [
    ...['LICENSE', 'index.d.ts', 'index.js', 'package.json', 'v3.d.ts', 'v4.d.ts'],
  ])
  const modules = join(folder, 'program/node_modules')
  const own = join(modules, '@manager-edge/client')
  cpSync('node_modules/openapi-fetch', join(modules, 'openapi-fetch'), { recursive: true })
  cpSync('node_modules/openapi-typescript-helpers', join(modules, 'openapi-typescript-helpers'), { recursive: true })
  cpSync('node_modules/@types/node', join(modules, '@types/node'), { recursive: true })
  cpSync('node_modules/undici-types', join(modules, 'undici-types'), { recursive: true })
  await run('mkdir', ['-p', own])
  await run('tar', ['xf', join(folder, filename), '-C', own, '--strip-components=1'])
  cpSync(join(programs, 'main.ts'), join(folder, 'program/main.ts'))
  t.notMatch(
    readFileSync(join(folder, 'program/main.ts'), 'utf8'),
    /\bas\b(?! is)|\bany\b|@ts-/,
    'the program has no cast',
  )
  const compilerOptions = {
    ...{ target: 'es2023', lib: ['es2023', 'dom'], module: 'nodenext', types: ['node'], strict: true },
    // All declarations are checked, except those of the compiler, which take a fifth of its time.
    ...{ noUncheckedIndexedAccess: true, exactOptionalPropertyTypes: true, skipDefaultLibCheck: true },
  }
  writeFileSync(join(folder, 'program/tsconfig.json'), JSON.stringify({ compilerOptions, files: ['main.ts'] }))
  const tsc = [join(process.cwd(), 'node_modules/typescript/bin/tsc'), '-p', join(folder, 'program')]
  const compiled = await run(process.execPath, tsc).catch((failed: { stdout: string }) => failed)
  t.equal(compiled.stdout, '', 'tsc has no complaint')
  const printed = JSON.parse((await run(process.execPath, [join(folder, 'program/main.js'), ...args])).stdout)
  t.strictSame(printed, { ids, refused: 901, message: 'Unauthorized', v4: 2, written: 200 })
})

t.test('the Python module compiles, and a program with it works', async (t) => {
  const module = join(folder, 'python/manager_edge.py')
  await run(python, ['-W', 'error', '-m', 'py_compile', module])
  const source = readFileSync(module, 'utf8')
  const imports = [...source.matchAll(/^(?:import|from) (\w+)/gm)].map(([, name]) => name)
  t.same([...new Set(imports)], ['base64', 'json', 'time', 'urllib', 'typing'], 'the standard library only')
  const env = { ...process.env, PYTHONPATH: join(folder, 'python') }
  const { stdout } = await run(python, ['-W', 'error', join(programs, 'main.py'), ...args], { env })
  const printed = JSON.parse(stdout)
  t.same(printed.ids, ids)
  t.match(printed.cached, /; hit/)
  t.same(printed.missing, [1701, 200, null], 'an error of the manager')
  t.match(printed.invalid, [600, 400])
  t.match(printed.refused, [901, 401])
  t.match(printed.restarted, { affected_agents: ['001'] })
  t.same(printed.created, ['id', 'key'])
  t.equal(printed.v4, 2)
  t.ok(printed.v4_error[1] >= 400)
})
