/// The statements of a backup and a restore, for the server's administrator and the client
/// `mariadb`.
///
/// Values come as variables: `@name` is the database. Each script prints a line for each row, with
/// tabs between columns.
package enum BackupScripts {
  /// Prints the schema's version; nothing in a database without one.
  package static let schemaVersion: StaticString = "SELECT version FROM schema_version;"

  /// Prints the numbers of sessions, paired phones, open payments and unsent mails.
  package static let counts: StaticString = """
    SELECT COUNT(*) FROM sessions WHERE ended_at IS NULL AND expires_at > UTC_TIMESTAMP(3);
    SELECT COUNT(*) FROM pairings WHERE ended_at IS NULL AND expires_at > UTC_TIMESTAMP(3);
    SELECT COUNT(*) FROM payments WHERE confirmed_at IS NULL AND expires_at > UTC_TIMESTAMP(3);
    SELECT COUNT(*) FROM outbox WHERE state = 'open' AND expires_at > UTC_TIMESTAMP(3);
    """

  /// Prints the numbers of sessions and of paired phones that got new tokens at `@instant` or later.
  package static let renewals: StaticString = """
    SELECT COUNT(*) FROM sessions
     WHERE ended_at IS NULL AND expires_at > UTC_TIMESTAMP(3) AND rotated_at >= @instant;
    SELECT COUNT(*) FROM pairings
     WHERE ended_at IS NULL AND expires_at > UTC_TIMESTAMP(3) AND rotated_at >= @instant;
    """

  /// Prints the views of the database.
  package static let views: StaticString = """
    SELECT TABLE_NAME FROM information_schema.VIEWS WHERE TABLE_SCHEMA = @name ORDER BY TABLE_NAME;
    """

  /// Prints the users that are connected to the database, and their hosts.
  package static let connections: StaticString = """
    SELECT DISTINCT USER, SUBSTRING_INDEX(HOST, ':', 1) FROM information_schema.PROCESSLIST
     WHERE DB = @name AND ID <> CONNECTION_ID();
    """

  /// Prints `none`; `empty` for a database in which nothing has happened yet; or `used`.
  package static let state: StaticString = #"""
    DELIMITER //
    BEGIN NOT ATOMIC
      SET @state = 'none';
      IF EXISTS (SELECT 1 FROM information_schema.TABLES WHERE TABLE_SCHEMA = @name AND TABLE_TYPE = 'BASE TABLE') THEN
        SET @state = 'used';
        IF EXISTS (SELECT 1 FROM information_schema.TABLES WHERE TABLE_SCHEMA = @name AND TABLE_NAME = 'problems') THEN
          SET @of = CONCAT(' FROM `', @name, '`.');
          EXECUTE IMMEDIATE CONCAT(
            'SELECT IF(EXISTS (SELECT 1', @of, 'accounts) OR EXISTS (SELECT 1', @of, 'ogs_users)',
            ' OR EXISTS (SELECT 1', @of, 'pairings) OR EXISTS (SELECT 1', @of, 'banks)',
            ' OR EXISTS (SELECT 1', @of, 'merchants) OR EXISTS (SELECT 1', @of, 'audit_log), ''used'', ''empty'')',
            ' INTO @state');
        END IF;
      END IF;
      SELECT @state;
    END //
    """#

  /// Creates the database `@name`.
  package static let make: StaticString = #"""
    DELIMITER //
    BEGIN NOT ATOMIC
      EXECUTE IMMEDIATE CONCAT('CREATE DATABASE `', @name, '` CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin');
    END //
    """#

  /// Removes the database `@name`.
  package static let remove: StaticString = #"""
    DELIMITER //
    BEGIN NOT ATOMIC
      EXECUTE IMMEDIATE CONCAT('DROP DATABASE IF EXISTS `', @name, '`');
    END //
    """#

  /// Moves the tables of the database `@from` to `@name`, and the tables that are in `@name` to a
  /// new database `@before`, all in one statement. Removes `@from`, and the views of `@name`: the
  /// schema creates them again.
  package static let exchange: StaticString = #"""
    DELIMITER //
    BEGIN NOT ATOMIC
      SET SESSION group_concat_max_len = 1000000;
      EXECUTE IMMEDIATE CONCAT(
        'CREATE DATABASE IF NOT EXISTS `', @name, '` CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin');
      IF EXISTS (SELECT 1 FROM information_schema.TABLES WHERE TABLE_SCHEMA = @name AND TABLE_TYPE = 'BASE TABLE') THEN
        EXECUTE IMMEDIATE CONCAT('CREATE DATABASE `', @before, '` CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin');
      END IF;
      FOR old IN (SELECT TABLE_NAME AS name FROM information_schema.VIEWS WHERE TABLE_SCHEMA = @name) DO
        EXECUTE IMMEDIATE CONCAT('DROP VIEW `', @name, '`.`', old.name, '`');
      END FOR;
      SET @moves = (
        SELECT GROUP_CONCAT('`', TABLE_SCHEMA, '`.`', TABLE_NAME, '` TO `', IF(TABLE_SCHEMA = @from, @name, @before), '`.`',
            TABLE_NAME, '`' ORDER BY TABLE_SCHEMA = @from)
          FROM information_schema.TABLES
         WHERE TABLE_SCHEMA IN (@from, @name) AND TABLE_TYPE = 'BASE TABLE');
      EXECUTE IMMEDIATE CONCAT('RENAME TABLE ', @moves);
      EXECUTE IMMEDIATE CONCAT('DROP DATABASE `', @from, '`');
    END //
    """#

  /// Closes everything that may be used only once, in one transaction, and records that in the
  /// audit log.
  package static var close: String {
    let statements = Room.all.flatMap(\.whenRestored).map { "\($0)" }
    let event = AuditEvent.restored.name
    return """
      SET time_zone = '+00:00';
      START TRANSACTION;
      \(statements.joined(separator: ";\n"));
      INSERT INTO audit_log (at, event, request_id, address, detail)
        VALUES (UTC_TIMESTAMP(3), '\(event)', '\(Origin.administrator.requestID)', '', @detail);
      COMMIT;
      """
  }

  /// Prints the prefixes of the sealed values that are still in use. A table, column or key that an
  /// earlier version does not have (errors 1146, 1054 and 1176) counts as empty.
  package static var seals: String {
    let statements = Room.all.flatMap(\.seals).map {
      "BEGIN NOT ATOMIC\nDECLARE CONTINUE HANDLER FOR 1146, 1054, 1176 BEGIN END;\n\($0);\nEND //"
    }
    return "DELIMITER //\n" + statements.joined(separator: "\n")
  }

  /// Prints the roles of the programs that have an account at the server.
  package static let accounts: StaticString = """
    SELECT DISTINCT Role FROM mysql.roles_mapping
     WHERE Role IN (CONCAT(DATABASE(), '_responder'), CONCAT(DATABASE(), '_companion'), CONCAT(DATABASE(), '_relay'))
       AND Admin_option = 'N' ORDER BY Role;
    """
}
