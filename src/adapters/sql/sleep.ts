/** Sleeps between two attempts of a call. Knows no database. */
/** Waits, and ends early if a signal fires. */
export const sleep = (millis: number, ...signals: ReadonlyArray<AbortSignal | undefined>): Promise<void> =>
  new Promise((resolve) => {
    const end = (): void => {
      clearTimeout(timer)
      for (const signal of signals) signal?.removeEventListener('abort', end)
      resolve()
    }
    const timer = setTimeout(end, millis)
    for (const signal of signals) signal?.addEventListener('abort', end)
  })
