/**
 * `npm run clients`: writes a TypeScript package and a Python module for both contracts to `.clients`, or to the folder that is
 * given, from the OpenAPI documents.
 */
import { copyFileSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import openapiTS, { astToString } from 'openapi-typescript'
import ts from 'typescript'
import { catalogue } from '../../../src/contracts/index.ts'
import { v4Contract } from '../../../src/contracts/v4/index.ts'
import { openApiDocument } from '../../reference/src/document.ts'
import { v4OpenApiDocument } from '../../reference/src/v4-document.ts'
import { pythonClass } from './python.ts'

const fileOf = (path: string): string => fileURLToPath(new URL(path, import.meta.url))
const manifestOf = (path: string) => JSON.parse(readFileSync(fileOf(path), 'utf8'))

const HELP = `Usage: npm run clients -- [FOLDER]
Writes a TypeScript package and a Python module for both contracts, from the OpenAPI documents.

  --help  print this text`

const { values, positionals } = parseArgs({ options: { help: { type: 'boolean' } }, allowPositionals: true })
const [target = fileOf('../../../.clients')] = positionals
const { version, engines, license } = manifestOf('../../../package.json')
const documents = {
  v3: openApiDocument(catalogue, { version }),
  v4: v4OpenApiDocument(v4Contract, { version }),
}
if (values.help) console.log(HELP)
else {
  await writeTypeScript(join(target, 'typescript'))
  writePython(join(target, 'python'))
}

async function writeTypeScript(folder: string): Promise<void> {
  rmSync(folder, { recursive: true, force: true })
  mkdirSync(folder, { recursive: true })
  for (const [contract, document] of Object.entries(documents))
    writeFileSync(join(folder, `${contract}.d.ts`), astToString(await openapiTS(JSON.stringify(document))))
  const source = join(folder, 'index.ts')
  copyFileSync(fileOf('../runtime/index.ts'), source)
  compile(source)
  rmSync(source)
  const manifest = {
    name: '@manager-edge/client',
    version,
    description: 'Typed client of the API of Manager Edge, for the contracts of releases 3.x and 4.x of the manager',
    license,
    type: 'module',
    exports: { '.': { types: './index.d.ts', default: './index.js' } },
    files: ['*.js', '*.d.ts', 'LICENSE'],
    engines,
    publishConfig: { access: 'public' },
    dependencies: { 'openapi-fetch': manifestOf('../package.json').devDependencies['openapi-fetch'] },
  }
  writeFileSync(join(folder, 'package.json'), `${JSON.stringify(manifest, null, 2)}\n`)
  copyFileSync(fileOf('../../../LICENSE'), join(folder, 'LICENSE'))
}

/** Writes JavaScript and declarations beside the source. */
function compile(source: string): void {
  const program = ts.createProgram([source], {
    ...{ module: ts.ModuleKind.NodeNext, target: ts.ScriptTarget.ES2022, declaration: true, strict: true },
    ...{ lib: ['lib.es2022.d.ts', 'lib.dom.d.ts', 'lib.dom.iterable.d.ts'], skipLibCheck: true, types: [] },
    ...{ exactOptionalPropertyTypes: true, noUncheckedIndexedAccess: true },
    // The folder may be outside the repository.
    paths: { 'openapi-fetch': [fileOf('../../../node_modules/openapi-fetch/dist/index.d.mts')] },
  })
  const { diagnostics } = program.emit()
  const faults = [...ts.getPreEmitDiagnostics(program), ...diagnostics]
  const host = { getCanonicalFileName: String, getCurrentDirectory: () => target, getNewLine: () => '\n' }
  if (faults.length > 0) throw new Error(ts.formatDiagnostics(faults, host))
}

function writePython(folder: string): void {
  const runtime = readFileSync(fileOf('../runtime/manager_edge.py'), 'utf8').trimEnd()
  const classes = [pythonClass('V3Client', '_V3', documents.v3), pythonClass('V4Client', '_V4', documents.v4)]
  mkdirSync(folder, { recursive: true })
  writeFileSync(join(folder, 'manager_edge.py'), `${[runtime, ...classes].join('\n\n\n')}\n`)
}
