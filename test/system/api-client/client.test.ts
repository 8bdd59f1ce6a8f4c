import { execFile } from 'node:child_process'
import { cpSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import openapiTS, { astToString } from 'openapi-typescript'
import t from 'tap'
import { startSimulator } from '../../../packages/simulator/src/index.ts'
import { startEdge } from '../../support/edge.ts'

const programs = fileURLToPath(new URL('program', import.meta.url))
const run = promisify(execFile)

const tsconfig = {
  compilerOptions: {
    ...{ target: 'es2023', lib: ['es2023', 'dom'], module: 'nodenext', types: ['node'], outDir: 'out', rootDir: '.' },
    ...{ strict: true, noUncheckedIndexedAccess: true, exactOptionalPropertyTypes: true, skipLibCheck: true },
    ...{ rewriteRelativeImportExtensions: true },
  },
}

t.test('a client that is generated from /openapi.json compiles without a cast, and works', async (t) => {
  const simulator = await startSimulator({ agents: 6, workers: 1, password: 'only-for-tests', username: 'edge' })
  t.teardown(() => simulator.close())
  const edge = await startEdge({ nodes: simulator.nodes, password: 'only-for-tests' })
  t.teardown(() => edge.close())
  const authorization = edge.authorization('admin')
  const document = await fetch(`${edge.url}/openapi.json`, {
    headers: { authorization: edge.authorization('reader') },
  })
  t.equal(document.status, 200, 'any signed-in user may read the document')

  const folder = t.testdir({ 'package.json': '{"type":"module"}', 'tsconfig.json': JSON.stringify(tsconfig) })
  cpSync(programs, folder, { recursive: true })
  writeFileSync(join(folder, 'api.ts'), astToString(await openapiTS(await document.text())))
  t.notMatch(readFileSync(join(folder, 'main.ts'), 'utf8'), /\bas\b(?! is)|\bany\b|@ts-/, 'the program has no cast')
  const compiled = await run(process.execPath, ['node_modules/typescript/bin/tsc', '-p', folder]).catch(
    (failed: { stdout: string }) => failed,
  )
  t.equal(compiled.stdout, '', 'tsc has no complaint')

  const { stdout } = await run(process.execPath, [join(folder, 'out/main.js'), edge.url, authorization])
  const printed = JSON.parse(stdout) as Readonly<Record<string, unknown>>
  const agents = printed.agents as [string, string?][]
  t.same(
    agents.map(([id]) => id),
    ['000', '001', '002', '003', '004'],
  )
  t.type(agents[0]?.[1], 'string', 'the platform of the manager')
  const packages = printed.packages as string[]
  t.ok(packages.length > 10, `${packages.length} packages`)
  t.same(packages.toSorted(), packages, 'in the order of their names')
  t.equal(new Set(packages).size, packages.length, 'each of them once')
  t.equal(printed.pages, Math.ceil(packages.length / 10))
  t.equal(printed.purge, '0 left')
  const [found, missing, refused] = printed.errors as string[]
  t.match(found, /^agent \S/)
  t.equal(missing, 'manager 1701: Agent does not exist')
  t.match(refused, /^edge 600: \S/)
})
