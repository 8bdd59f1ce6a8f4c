/** Prints how many files and functions one real request enters, for four typical flows (`entered-functions.ts`). */
import { execFile } from 'node:child_process'
import { resolve } from 'node:path'
import { promisify } from 'node:util'
import { type Entered, FLOWS, measureFlows } from '../support/entered-functions.ts'
import { readOptions } from '../support/script-options.ts'

const { values } = readOptions({
  name: 'flows',
  purpose: 'Prints how many files and functions four typical requests enter.',
  options: {
    list: { kind: 'number', value: 'FLOW', meaning: 'print the functions of one flow (1 to 4) by file instead' },
    than: {
      kind: 'text',
      value: 'FOLDER',
      meaning: 'also measure another build with one file per source, such as `.compiled` of another commit',
    },
    build: { kind: 'text', value: 'FOLDER', meaning: 'the build to measure (default: .compiled)' },
    json: { kind: 'flag', meaning: 'print the files and the functions as JSON' },
  },
})

const found = await measureFlows(resolve(values.build ?? '.compiled'))
if (values.json) console.log(JSON.stringify(found))
else if (values.list !== undefined) list(found[values.list - 1])
else report(found, values.than === undefined ? undefined : await measureApart(values.than))

/** Prints each file with its functions, in the order of the code. */
function list(entered: Entered | undefined): void {
  for (const file of entered?.files ?? []) {
    const functions = entered?.functions.filter((each) => each.file === file) ?? []
    const names = functions.toSorted((a, b) => a.offset - b.offset).map(({ name }) => name || '(anonymous)')
    console.log(`${file} ${names.length}: ${names.join(', ')}`)
  }
}

function report(now: readonly Entered[], before: readonly Entered[] | undefined): void {
  const shown = (entered?: Entered): string => `${entered?.files.length} files · ${entered?.functions.length} functions`
  for (const [at, { name }] of FLOWS.entries()) {
    const was = before === undefined ? '' : ` (before: ${shown(before[at])})`
    console.log(`${name}: ${shown(now[at])}${was}`)
  }
}

/** Measures another build in a separate process, so that the modules of the two do not mix. */
async function measureApart(build: string): Promise<readonly Entered[]> {
  const { stdout } = await promisify(execFile)(
    process.execPath,
    [...process.execArgv, import.meta.filename, '--json', '--build', build],
    { maxBuffer: 1 << 24 },
  )
  return JSON.parse(stdout) as readonly Entered[]
}
