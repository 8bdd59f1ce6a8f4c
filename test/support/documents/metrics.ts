/** The table of metrics in docs/monitoring.md, whose rows may say more than the help texts of the metrics. */
import { eventSeries, stateSeries } from '../../../src/telemetry/metrics/table.ts'

export const METRICS_DOCUMENT = 'docs/monitoring.md'

/** Returns the names of metrics that the document lacks. */
export function metricsMissingIn(document: string): readonly string[] {
  return [...eventSeries, ...stateSeries]
    .map(({ name }) => name)
    .filter((name) => !new RegExp(`\`${name}[\`{]`).test(document))
}

/** Adds a row with the help text of each metric that the document lacks, as a part of a sentence. The other rows stay as they are. */
export function withNewMetrics(document: string): string {
  const missing = metricsMissingIn(document)
  const rows = [...eventSeries, ...stateSeries]
    .filter(({ name }) => missing.includes(name))
    .map(({ name, help }) => `| \`${name}\` | ${partOfSentence(help)} |`)
  const lines = document.split('\n')
  const end = lines.indexOf('', lines.indexOf('| Metric | Meaning |'))
  return [...lines.slice(0, end), ...rows, ...lines.slice(end)].join('\n')
}

/** `Requests that were rejected.` as `requests that were rejected`; a first word such as `CPU` or `HTTP` stays. */
function partOfSentence(text: string): string {
  return text.replace(/^[A-Z](?![A-Z])/, (letter) => letter.toLowerCase()).replace(/\.$/, '')
}
