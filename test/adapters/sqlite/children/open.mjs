// Opens the stores of a database with a driver by its name.
import { connect } from 'dogear/sqlite'

export const open = async ({ file, driver }) => {
  const module = await import(driver)
  return connect(file, module.DatabaseSync ?? module.default)
}

/** For `storageProcess`. */
export const storage = async (argument) => (await open(argument)).storage
