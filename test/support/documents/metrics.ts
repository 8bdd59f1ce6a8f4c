/** The table of metrics in docs/monitoring.md, whose rows may say more than the help texts of the metrics. */
import { eventSeries, stateSeries } from '../../../src/telemetry/metrics/table.ts'

export const METRICS_DOCUMENT = 'docs/monitoring.md'

/** Returns the names of metrics that the document lacks. */
export function metricsMissingIn(document: string): readonly string[] {
  return [...eventSeries, ...stateSeries]
    .map(({ name }) => name)
    .filter((name) => !new RegExp(`\`${name}[\`{]`).test(document))
}

/**
 * Adds a row with the help text of each metric that the document lacks, as a part of a sentence, behind the row of the metric
 * before it in the code. The other rows stay as they are.
 */
export function withNewMetrics(document: string): string {
  const missing = metricsMissingIn(document)
  const lines = document.split('\n')
  const head = lines.indexOf('| Metric | Meaning |')
  let before = lines.indexOf('', head) - 1
  for (const { name, help } of [...eventSeries, ...stateSeries]) {
    if (missing.includes(name)) lines.splice(before + 1, 0, `| \`${name}\` | ${partOfSentence(help)} |`)
    const own = lines.findIndex(
      (line, at) => at > head && line.startsWith('|') && new RegExp(`\`${name}[\`{]`).test(line),
    )
    if (own >= 0) before = own
  }
  return lines.join('\n')
}

/** `Requests that were rejected.` as `requests that were rejected`; a first word such as `CPU` or `HTTP` stays. */
function partOfSentence(text: string): string {
  return text.replace(/^[A-Z](?![A-Z])/, (letter) => letter.toLowerCase()).replace(/\.$/, '')
}
