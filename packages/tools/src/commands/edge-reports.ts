/** The commands that print what a running edge reports: `problems` and `explain`. */
import { printJson, printTable, singleLine } from '../../../../src/cli/output.ts'
import { CommandError, print, printError } from '../../../../src/cli/terminal.ts'
import type { Contract, WriteEndpoint } from '../../../../src/contracts/endpoint.ts'
import { bothContracts } from '../../../../src/contracts/index.ts'
import { allows } from '../../../../src/core/access.ts'
import { type NamedPath, nameOf, parseName } from '../../../../src/core/endpoint-names.ts'
import { EXIT_CODES } from '../../../../src/server/exit.ts'
import type { Problem, Problems } from '../../../../src/status/problem-types.ts'
import type { CacheExplanation } from '../../../../src/status/view-types.ts'
import type { Account, Now } from '../../../console/server/api-types.ts'
import { parseExplainedUrl } from '../../../console/server/explained-url.ts'
import { otherFields } from '../../../console/server/other-fields.ts'
import { type ConnectionOptions, type Operations, usageError, withOperations } from './edge-client.ts'
import { coloured, formatTime, printMeasured } from './output.ts'

interface ReportOptions extends ConnectionOptions {
  readonly json?: true
}

const STYLES = { error: 'red', warning: 'yellow', notice: 'dim' } as const

/** The exit code is 1 if there is an error or a warning. A notice is a state that an operator has chosen. */
export async function printProblems(options: ReportOptions): Promise<void> {
  await withOperations(options, async ({ read }) => {
    const { problems } = await read<Problems>('/api/problems')
    if (options.json) printMeasured({ problems })
    else if (problems.length === 0) print('no problems')
    else for (const problem of problems) printProblem(problem)
    if (problems.some(({ severity }) => severity !== 'notice')) process.exitCode = EXIT_CODES.failed
  })
}

function printProblem(problem: Problem): void {
  const { severity, summary, detail, since } = problem
  print(`${coloured(STYLES[severity], severity.padEnd(7))}  ${singleLine(summary)}`)
  print(`         ${singleLine(detail)}`)
  print(`         since ${since.slice(0, 19)}Z`)
}

interface ExplainOptions extends ReportOptions {
  readonly contract: Contract
}

/** What the cache would do with a request, and which writes invalidate its response. */
export async function explain(method: string, given: string, options: ExplainOptions): Promise<void> {
  const verb = method.toUpperCase()
  if (!/^(?:GET|HEAD|POST|PUT|PATCH|DELETE)$/.test(verb))
    throw usageError(`${method} is not a method; give GET, PUT, …`)
  await withOperations(options, async ({ read }) => {
    const named = await findPath(given, options.contract, read)
    if (verb === 'GET' || verb === 'HEAD') {
      const found = await read<CacheExplanation>(
        `/api/explain?url=${encodeURIComponent(nameOf(named))}`,
        noEndpoint(verb, named),
      )
      return options.json ? printMeasured(found) : printRead(found)
    }
    const write = explainWrite(findWrite(verb, named), await read<Account>('/api/me'))
    return options.json ? printJson(write) : printWrite(write)
  })
}

/** A full URL has the contract of the port that it names, and anything else that of the option. Prints what was changed or left out. */
async function findPath(given: string, contract: Contract, read: Operations['read']): Promise<NamedPath> {
  if (given.startsWith('/')) return { contract, path: given }
  const { edge } = await read<Now>('/api/now')
  try {
    const { target, notes } = parseExplainedUrl(given, edge.ports, contract === 'v4' ? contract : undefined)
    for (const note of notes) printError(`note: ${note}`)
    return parseName(target)
  } catch (error) {
    throw usageError(`${given}: ${(error as Error).message}`)
  }
}

function printRead(found: CacheExplanation): void {
  const { endpoint, cacheable, reason, next, tags = [], invalidatedBy = [], ...others } = found
  printFields([
    ['endpoint', endpoint],
    ['cacheable', cacheable ? 'yes' : `no: ${reason}`],
    ['next', next && `${next.hit ? 'hit' : 'miss'}: ${next.reason}`],
    ['age', next?.age === undefined ? undefined : formatTime(next.age)],
    ['fresh for', next?.timeLeft === undefined ? undefined : formatTime(Math.max(0, next.timeLeft))],
    ...otherFields(others),
    ['tags', tags.join(', ')],
  ])
  if (invalidatedBy.length === 0) return
  print('\ninvalidated by')
  const columns = [
    { title: '  WRITE', cell: ({ write }: { write: string }) => `  ${write}` },
    { title: 'ONLY IF', cell: ({ when = [] }: { when?: readonly string[] }) => when.join(' or ') },
  ]
  printTable(columns, invalidatedBy)
}

interface ExplainedWrite {
  readonly endpoint: string
  readonly permission: string
  readonly allowed: boolean
  readonly target: string
  readonly invalidates: readonly { readonly tags: readonly string[]; readonly when?: string }[]
}

function explainWrite(record: WriteEndpoint, { permissions }: Account): ExplainedWrite {
  const always = record.invalidates.filter((entry) => typeof entry === 'string')
  const conditional = record.invalidates.filter((entry) => typeof entry !== 'string')
  return {
    endpoint: `${record.method} ${nameOf(record)}`,
    permission: record.permission,
    allowed: allows(permissions, record.permission),
    target: record.target.kind,
    invalidates: [
      ...(always.length > 0 ? [{ tags: always }] : []),
      ...conditional.map(({ value, matches, tags }) => ({ tags, when: `${value} matches ${matches}` })),
    ],
  }
}

function printWrite({ endpoint, permission, allowed, target, invalidates }: ExplainedWrite): void {
  printFields([
    ['endpoint', endpoint],
    ['cacheable', 'no: writes are never stored'],
    ['permission', `${permission} (${allowed ? 'you have it' : 'you lack it'})`],
    ['target', target],
    ...(invalidates.length === 0 ? [['invalidates', 'nothing'] as const] : []),
  ])
  for (const { tags, when } of invalidates)
    printFields([['invalidates', `${tags.join(', ')}${when === undefined ? '' : `, if ${when}`}`]])
}

function findWrite(method: string, { path, contract }: NamedPath): WriteEndpoint {
  const segments = segmentsOf(path.replace(/[?#].*/, ''))
  const matches = bothContracts.filter((record): record is WriteEndpoint => {
    if (record.method === 'GET' || record.method !== method || record.contract !== contract) return false
    const template = segmentsOf(record.path)
    return (
      template.length === segments.length && template.every((part, at) => part.startsWith(':') || part === segments[at])
    )
  })
  // Of several templates, the one with the fewest parameters is meant, as in the router.
  const [found] = matches.sort((a, b) => parametersOf(a) - parametersOf(b))
  if (found !== undefined) return found
  throw new CommandError(noEndpoint(method, { path, contract }))
}

function noEndpoint(method: string, { path, contract }: NamedPath): string {
  return `${method} ${path} is no endpoint of the ${contract} contract; "routes --contract ${contract}" lists them`
}

function segmentsOf(path: string): readonly string[] {
  return path.split('/').filter((part) => part !== '')
}

function parametersOf({ path }: WriteEndpoint): number {
  return segmentsOf(path).filter((part) => part.startsWith(':')).length
}

function printFields(fields: readonly (readonly [string, string | undefined])[]): void {
  for (const [name, value] of fields) if (value) print(`${name.padEnd(12)} ${value}`)
}
