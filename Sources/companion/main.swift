SwitchboardCompanion.main()
