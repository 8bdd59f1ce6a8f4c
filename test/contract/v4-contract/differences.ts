/** The recorded exchanges that the edge answers in another way than the manager. It answers all of them without a call. */
import type { ContractExchange } from './exchanges.ts'

export interface Difference {
  readonly reason: string
  /** Of the exchanges in the recording. */
  readonly lines: readonly number[]
  /** What the edge answers. */
  readonly status: number
}

const differences: readonly Difference[] = [
  {
    reason: 'The edge logs its own users in and out, with its own tokens.',
    lines: [1, 2, 5, 6, 60],
    status: 200,
  },
  {
    reason:
      'A token for an authorization context would have the roles of the user, so the edge refuses it to its own users.',
    lines: [9],
    status: 403,
  },
  {
    reason:
      'The recording client followed a redirect. The response of the manager was 308, and so is that of the edge.',
    lines: [17],
    status: 308,
  },
  {
    reason: 'The cache of the manager answers requests without a token. The edge demands a token for each of them.',
    lines: [1090, 1140, 1163, 1187, 1215],
    status: 401,
  },
]

const byLine = new Map(differences.flatMap((difference) => difference.lines.map((line) => [line, difference])))

export function differenceOf({ line }: ContractExchange): Difference | undefined {
  return byLine.get(line)
}

/** The lines of all differences. */
export const differentLines: readonly number[] = [...byLine.keys()]
