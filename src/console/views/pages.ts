/** Pages of a long list, fetched as they come into sight. */
import { useEffect, useRef, useState } from 'preact/hooks'
import type { EntryLine, EntryPage } from '../../admin/console/api-types.ts'
import { ask } from '../api.ts'
import { queryText } from '../place.ts'

export interface EntryFilter extends Record<string, string> {
  readonly search: string
  readonly group: string
  readonly endpoint: string
  readonly tag: string
  readonly scope: string
  readonly sort: string
}

export interface Summary {
  readonly total?: number
  readonly all: number
  readonly size: number
  readonly age: number
  /** Not all were read yet. */
  readonly unfinished: boolean
  readonly fault?: string
}

const PAGE = 100
/** Held at once, those that were fetched first go. */
const HELD = 20
const EVERY = 10_000
/** While the edge is reading the index: it takes its time to answer then. */
const SOON = 100
const none: Summary = { all: 0, size: 0, age: 0, unfinished: false }

/** Nothing of it is drawn by itself. */
interface Fetched {
  readonly pages: Map<number, readonly EntryLine[]>
  /** On their way. */
  readonly asked: Set<number>
  /** Could not be had: they are asked for at the next round, not each time that the page is drawn. */
  readonly failed: Set<number>
  shown: number
  growing: boolean
  /** What is asked now; answers to another question come too late. */
  text: string
}

export function usePages(
  filter: EntryFilter,
  changes: number,
): { readonly summary: Summary; row(at: number): EntryLine | undefined } {
  const [summary, setSummary] = useState<Summary>(none)
  const text = queryText(filter)
  const { current: fetched } = useRef<Fetched>(nothingOf(text))
  fetched.text = text
  const fetchPage = async (page: number): Promise<void> => {
    const { asked } = fetched
    if (asked.has(page)) return
    asked.add(page)
    try {
      const found = await ask<EntryPage>(`/api/entries?${text}&offset=${page * PAGE}&limit=${PAGE}`)
      if (fetched.text !== text) return
      hold(fetched, page, found)
      const { total, all, bytes: size, age, unfinished } = found
      setSummary({ total, all, size, age, unfinished })
    } catch (fault) {
      if (fetched.text !== text) return
      fetched.failed.add(page)
      setSummary((before) => ({ ...before, unfinished: false, fault: (fault as Error).message }))
    } finally {
      asked.delete(page)
    }
  }
  // anew for another question, or after a purge
  useEffect(() => {
    Object.assign(fetched, nothingOf(text))
    void fetchPage(0)
    const timer = setInterval(() => void (document.hidden || fetchPage(fetched.shown)), EVERY)
    return () => clearInterval(timer)
  }, [text, changes])
  useEffect(() => {
    if (!summary.unfinished) return
    const timer = setTimeout(() => void fetchPage(fetched.shown), SOON)
    return () => clearTimeout(timer)
  }, [summary])
  return {
    summary,
    row(at) {
      const page = Math.floor(at / PAGE)
      const held = fetched.pages.get(page)
      fetched.shown = page
      if (held === undefined && !fetched.failed.has(page)) void fetchPage(page)
      return held?.[at % PAGE]
    },
  }
}

function nothingOf(text: string): Fetched {
  return { pages: new Map(), asked: new Set(), failed: new Set(), shown: 0, growing: false, text }
}

function hold(fetched: Fetched, page: number, { items, unfinished }: EntryPage): void {
  const { pages, failed, growing } = fetched
  // Pages of one reading fit together, not those of several moments of it.
  if (unfinished || growing) pages.clear()
  fetched.growing = unfinished
  failed.clear()
  pages.delete(page)
  pages.set(page, items)
  for (const oldest of pages.keys()) if (pages.size > HELD) pages.delete(oldest)
}
