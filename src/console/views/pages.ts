/** Pages of a long list, fetched as they come into sight. */
import { useEffect, useRef, useState } from 'preact/hooks'
import type { EntryLine, EntryPage } from '../../operations/console/answers/cache.ts'
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

export function usePages(
  filter: EntryFilter,
  changes: number,
): { readonly summary: Summary; row(at: number): EntryLine | undefined } {
  const [summary, setSummary] = useState<Summary>(none)
  const pages = useRef(new Map<number, readonly EntryLine[]>())
  const asked = useRef(new Set<number>())
  const shown = useRef(0)
  const growing = useRef(false)
  const text = queryText(filter)
  const current = useRef(text)
  current.current = text
  const fetchPage = async (page: number): Promise<void> => {
    if (asked.current.has(page)) return
    asked.current.add(page)
    try {
      const found = await ask<EntryPage>(`/api/entries?${text}&offset=${page * PAGE}&limit=${PAGE}`)
      if (current.current !== text) return
      // Pages of one reading fit together, not those of several moments of it.
      if (found.unfinished || growing.current) pages.current.clear()
      growing.current = found.unfinished
      pages.current.delete(page)
      pages.current.set(page, found.items)
      for (const oldest of pages.current.keys()) if (pages.current.size > HELD) pages.current.delete(oldest)
      const { total, all, bytes: size, age, unfinished } = found
      setSummary({ total, all, size, age, unfinished })
    } catch (fault) {
      if (current.current === text) setSummary((before) => ({ ...before, fault: (fault as Error).message }))
    } finally {
      asked.current.delete(page)
    }
  }
  // anew for another question, or after a purge
  useEffect(() => {
    pages.current.clear()
    asked.current.clear()
    shown.current = 0
    void fetchPage(0)
    const timer = setInterval(() => void (document.hidden || fetchPage(shown.current)), EVERY)
    return () => clearInterval(timer)
  }, [text, changes])
  useEffect(() => {
    if (!summary.unfinished) return
    const timer = setTimeout(() => void fetchPage(shown.current), SOON)
    return () => clearTimeout(timer)
  }, [summary])
  return {
    summary,
    row(at) {
      const page = Math.floor(at / PAGE)
      const held = pages.current.get(page)
      shown.current = page
      if (held === undefined) void fetchPage(page)
      return held?.[at % PAGE]
    },
  }
}
