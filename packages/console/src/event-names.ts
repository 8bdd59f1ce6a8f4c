/** The names of events in the charts and in the list below them. */
import type { EventKind, HistoryEvent } from '../server/history-types.ts'

/** The letter of each kind in the charts. */
export const eventLetters: Readonly<Record<EventKind, string>> = {
  start: 'S',
  purge: 'P',
  ejection: 'E',
  reload: 'R',
  drain: 'D',
  return: 'B',
}

const titles: Readonly<Record<EventKind, string>> = {
  start: 'Replica started',
  purge: 'Purge',
  ejection: 'Node ejected',
  reload: 'Settings reloaded',
  drain: 'Node drained',
  return: 'Node put back',
}

export function eventTitle({ kind, text }: HistoryEvent): string {
  return text === undefined ? titles[kind] : `${titles[kind]}: ${text}`
}
