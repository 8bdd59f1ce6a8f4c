/** `manager-edge advise`: which lifetimes would save calls, and what other settings would change. */
import type { Advice } from '../admin/console/advice-types.ts'
import { type ConnectionOptions, withOperations } from './edge-client.ts'
import { coloured, formatTime, printJson, singleLine } from './output.ts'

export interface AdviseOptions extends ConnectionOptions {
  readonly json?: true
  /** Print only settings for the configuration. */
  readonly diff?: true
  /** Settings to try, such as `cache.ttl.agents=15s`. */
  readonly set?: readonly string[]
  /** Percent of the reads that may differ for a recommendation. */
  readonly differing: number
}

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
    else process.stdout.write(format(advice, settings))
  })
}

function format({ time, replicas, share, lifetimes, whatIf }: Advice, settings: string): string {
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
