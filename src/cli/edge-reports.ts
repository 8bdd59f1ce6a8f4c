/** The commands that print what a running edge has found: `problems`, `incidents` and `advise`. */
import type { Advice } from '../admin/console/advice-types.ts'
import type { Problem, Problems } from '../admin/console/api-types.ts'
import type { Incidents } from '../admin/console/history-types.ts'
import { EXIT_CODES } from '../server/exit.ts'
import { type ConnectionOptions, withOperations } from './edge-client.ts'
import { coloured, formatTime, printJson, singleLine } from './output.ts'
import { print } from './terminal.ts'

interface ReportOptions extends ConnectionOptions {
  readonly json?: true
}

const STYLES = { error: 'red', warning: 'yellow', notice: 'dim' } as const

/** The exit code is 1 if there is an error or a warning. A notice is a state that an operator has chosen. */
export async function printProblems(options: ReportOptions): Promise<void> {
  await withOperations(options, async ({ read }) => {
    const { problems } = await read<Problems>('/api/problems')
    if (options.json) printJson({ problems })
    else if (problems.length === 0) print('no problems')
    else for (const problem of problems) printProblem(problem)
    if (problems.some(({ severity }) => severity !== 'notice')) process.exitCode = EXIT_CODES.failed
  })
}

function printProblem({ severity, summary, detail }: Problem): void {
  print(`${coloured(STYLES[severity], severity.padEnd(7))}  ${singleLine(summary)}`)
  print(`         ${singleLine(detail)}`)
}

interface IncidentsOptions extends ReportOptions {
  readonly markdown?: true
  /** Incidents to print, the newest first. */
  readonly last: number
}

/** The exit code is 1 if an incident is not over. */
export async function printIncidents({ json, markdown, last, ...options }: IncidentsOptions): Promise<void> {
  await withOperations(options, async ({ read }) => {
    const { incidents } = await read<Incidents>('/api/incidents')
    const shown = incidents.slice(0, last)
    if (json) printJson({ incidents: shown })
    else if (markdown) print(shown.map((incident) => incident.markdown).join('\n'))
    else if (shown.length === 0) print('no incidents')
    else
      for (const { since, until, text } of shown) {
        const [day] = new Date(since).toISOString().split('T')
        print(`${coloured(until === undefined ? 'red' : 'dim', day ?? '')}  ${singleLine(text)}`)
      }
    if (incidents.some(({ until }) => until === undefined)) process.exitCode = EXIT_CODES.failed
  })
}

interface AdviseOptions extends ReportOptions {
  /** Print only settings for the configuration. */
  readonly diff?: true
  /** Settings to try, such as `cache.ttl.agents=15s`. */
  readonly set?: readonly string[]
  /** Percent of the reads that may differ for a recommendation. */
  readonly differing: number
}

/** Prints which lifetimes would save calls, and what other settings would change. */
export async function advise({ json, diff, set = [], differing, ...options }: AdviseOptions): Promise<void> {
  await withOperations(options, async ({ read }) => {
    const query = new URLSearchParams([
      ['differing', `${differing}`],
      ...set.map((setting): [string, string] => ['set', setting]),
    ])
    const advice = await read<Advice>(`/api/advice?${query}`)
    const settings = advice.whatIf?.settings ?? advice.settings
    if (json) printJson(advice)
    else if (diff) process.stdout.write(settings)
    else process.stdout.write(formatAdvice(advice, settings))
  })
}

function formatAdvice({ time, replicas, share, lifetimes, whatIf }: Advice, settings: string): string {
  const [fetches, observed] = (['fetches', 'observedFetches'] as const).map((name) =>
    lifetimes.reduce((sum, { model }) => sum + model[name], 0),
  )
  const sampled = share < 1 ? `, ${Math.round(share * 100)} % of the stored responses` : ''
  return [
    ...(whatIf?.texts ?? (lifetimes.length === 0 ? ['no reads'] : lifetimes.map(({ text }) => text))).map(singleLine),
    coloured(
      'dim',
      `reads of the last ${formatTime(time)}${sampled}, ${replicas === 1 ? 'one replica' : `${replicas} replicas`}; the model gives ${fetches} calls for the present settings, observed were ${observed}`,
    ),
    ...(settings === '' ? [] : ['', settings.trimEnd()]),
    '',
  ].join('\n')
}
